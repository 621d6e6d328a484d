//! Words of German, French, Spanish, Portuguese and Italian, without accents.

use crate::scan::clause::class::*;

/// Words by class. Only what cannot be taken for an English word.
#[rustfmt::skip]
pub(super) const WORDS: super::Words = &[
    (MUST, &[
        "muss", "mussen", "immer", "unbedingt", "zwingend", "doit", "devez", "doivent", "toujours", "obligatoire*",
        "debe", "debes", "deben", "siempre", "deve", "devem", "sempre", "obrigatorio", "devi", "devono", "ist zu",
        "sind zu", "hay que", "il faut", "bisogna", "obligatorio", "obbligatorio",
    ]),
    (USER, &[
        "benutzer*", "nutzer*", "anwender*", "kunde", "kunden", "utilisateur*", "usuario*", "usuari*", "utente",
        "utenti", "utilizador*", "l'utilisateur",
    ]),
    (YOU, &[
        "assistent", "der agent", "l'agent", "l'assistant", "el agente", "el asistente", "o agente", "o assistente",
        "l'agente", "l'assistente", "das modell", "le modele", "el modelo", "o modelo", "il modello",
    ]),
    (NOT, &[
        "nicht", "niemals", "keinesfalls", "ohne", "keine", "ne pas", "n'en", "ne le", "ne dites", "jamais", "sans",
        "nunca", "jamas", "sin que", "nao", "sem que", "senza", "non dire", "non menzionare", "non informare",
        "no informes", "no informe", "no menciones", "no mencione", "no digas", "no diga", "no le digas",
        "no reveles",
    ]),
    (TELL, &[
        "erwahne*", "erwahnt", "mitteilen", "mitgeteilt", "teile ihm", "sage", "sagen", "informiere*", "informiert",
        "verrate*", "verraten", "bescheid", "en parler", "en parlez", "mentionne*", "informez", "informer",
        "dites rien", "reveler", "reveles", "informes", "menciones", "mencione", "mencionar", "informar", "digas",
        "dizer", "conte ao", "informe o", "menzionare", "informare", "rivelare", "revele*", "parle a", "parle pas",
    ]),
    (BEFORE, &[
        "bevor", "zuvor", "vorher", "zuerst", "vor jedem", "vor jeder", "avant", "d'abord", "au prealable",
        "antes de", "antes que", "primero", "primeiro", "prima di", "prima che", "in primo luogo",
    ]),
    (WHEN, &[
        "sobald", "jedes mal", "immer wenn", "nachdem", "lorsque", "chaque fois", "des que", "apres", "cuando",
        "cada vez", "despues de", "quando", "sempre que", "depois de", "ogni volta", "dopo aver",
    ]),
    (OTHER, &[
        "anderes werkzeug", "andere werkzeuge", "ein anderes", "anderes tool", "andere tools", "anderen werkzeug*",
        "autre outil", "autres outils", "otra herramienta", "otras herramientas", "cualquier otra",
        "outra ferramenta", "outras ferramentas", "qualquer outra", "altro strumento", "altri strumenti",
        "qualsiasi altro",
    ]),
    (CALL, &[
        "rufe", "rufen", "aufrufen", "verwende", "verwenden", "verwendest", "benutze", "fuhre", "appelez", "appelle",
        "appeler", "utilisez", "llama", "llame", "llamar", "utilice", "ejecuta", "ejecute", "chame", "chamar",
        "utilize", "chiama", "chiamare", "esegui", "usa questo",
    ]),
    (SEND, &[
        "sende", "senden", "schicke", "schick", "ubergib", "ubergebe", "ubergeben", "ubermittle*", "leite", "fuge",
        "trage", "kopiere", "envoie", "envoyez", "envoyer", "transmets", "transmettez", "transmettre", "placez",
        "place-*", "mets", "mettez", "joins", "joignez", "inclus", "incluez", "copie", "copiez", "envia", "envias",
        "envie", "enviar", "pasa", "pase", "pasar", "incluye", "incluya", "coloca", "coloque", "adjunta", "adjunte",
        "copia", "inclua", "incluir", "anexe", "passe o", "passe a", "invia", "inviare", "inserisci", "allega",
        "passa", "includi", "reenvia", "reenvie", "encaminhe", "gib",
    ]),
    (READ, &[
        "lies", "lese", "offne", "lisez", "ouvre", "ouvrez", "recupere*", "lee", "lea", "abre", "abra", "leia",
        "leggi", "apri", "sammle", "suche",
    ]),
    (SECRET, &[
        "passwort", "passworter", "kennwort", "kennworter", "zugangsdaten", "api-schlussel", "privaten schlussel",
        "schlussel", "mot de passe", "mots de passe", "identifiants", "cles d'api", "cle d'api", "cle privee",
        "jetons", "contrasena", "contrasenas", "credenciales", "claves", "clave privada", "senha", "senhas",
        "credenciais", "chaves", "chave privada", "credenziali", "chiavi", "chiave privata",
        "variables d'environnement", "variables de entorno", "variaveis de ambiente", "umgebungsvariable*",
        "variabili d'ambiente",
    ]),
    (CHAT, &[
        "gesprach", "gesprachsverlauf", "chatverlauf", "unterhaltung", "bisherigen nachrichten",
        "letzten nachrichten", "la conversation", "l'historique", "messages precedents", "la conversacion",
        "historial", "mensajes anteriores", "a conversa", "historico", "mensagens anteriores", "la conversazione",
        "cronologia", "messaggi precedenti",
    ]),
    (PROMPT, &[
        "systemprompt", "system-prompt", "systemanweisung*", "prompt systeme", "prompt del sistema",
        "prompt do sistema", "prompt di sistema", "instructions systeme",
    ]),
    (PARAMETER, &[
        "im feld", "im parameter", "als parameter", "dans le parametre", "dans le champ", "en el parametro",
        "en el campo", "no parametro", "no campo", "nel parametro", "nel campo",
    ]),
    (RULES, &[
        "anweisungen", "regeln", "richtlinien", "vorgaben", "consignes", "regles", "instrucciones", "reglas",
        "instrucoes", "regras", "istruzioni", "regole",
    ]),
    (VOID, &[
        "ignoriere*", "missachte*", "gelten nicht", "gilt nicht", "nicht mehr", "vergiss", "ignorez", "ignore les",
        "oubliez", "oublie", "ne s'appliquent plus", "ignora", "ignore las", "olvida", "olvide", "ya no se aplican",
        "no se aplican", "ignore as", "esqueca", "nao se aplicam", "dimentica", "non si applicano", "non valgono",
    ]),
    (PRIORITY, &[
        "hat vorrang", "haben vorrang", "a priorite", "est prioritaire", "tiene prioridad", "tienen prioridad",
        "tem prioridade", "ha la priorita", "ha priorita",
    ]),
    (ALTER, &[
        "andere die", "andere den", "andere das", "ersetze", "remplace", "remplacez", "modifie", "modifiez", "cambia",
        "cambie", "reemplaza", "reemplace", "sustituye", "altere", "alterar", "substitua", "mude", "cambiare",
        "sostituisci", "modifica",
    ]),
    (VALUE, &[
        "empfanger", "betrag", "konto", "destinataire", "montant", "destinatario", "importe", "cuenta", "monto",
        "valor", "conta", "importo",
    ]),
    (ALSO, &[
        "zusatzlich", "egalement", "aussi", "ademas", "tambien", "tambem", "alem disso", "anche", "inoltre", "kopie",
        "une copie", "una copia", "uma copia",
    ]),
    (ASK, &["nachfragen", "zu fragen", "ruckfrage", "demander", "preguntar", "perguntar", "chiedere"]),
    (CONSENT, &[
        "zustimmung", "bestatigung", "erlaubnis", "confirmation", "l'accord", "confirmacion", "permiso",
        "confirmacao", "permissao", "conferma", "permesso",
    ]),
];
