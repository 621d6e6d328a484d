//! Words of other languages: German, French, Spanish, Italian, Portuguese, Dutch, Polish, Turkish, Russian, Chinese,
//! Japanese, Korean, Arabic and Hindi. Accents are folded away on both sides.

use crate::scan::concept::*;

/// Words by meaning. `*` at an end leaves that end open, for languages that inflect.
#[rustfmt::skip]
pub(super) const WORDS: &[(Concepts, &[&str])] = &[
    (IGNORE, &[
        "ignorier*", "missachte*", "vergiss", "vergesst", "vergessen sie", "beachte nicht", "umgehe",
        "ignorez", "ignorer", "oublie", "oubliez", "oublier", "ne tiens pas compte", "ne tenez pas compte",
        "ne suis pas", "ne suivez pas", "fais abstraction", "ignora", "ignorar", "ignoren", "olvida",
        "olvide", "olvidar", "haz caso omiso", "haga caso omiso", "descarta", "no sigas", "ignorare",
        "ignorate", "ignori", "dimentica", "dimenticare", "dimenticate", "non tenere conto", "non seguire",
        "esqueca", "esquece", "desconsidere", "desconsidera", "ignorem", "nao siga", "negeer", "vergeet",
        "zignoruj", "zapomnij", "yok say", "gormezden gel", "unut", "игнорир*", "проигнорир*", "забудь*",
        "не обращай внимания", "не следуй", "отмени", "ігноруй*", "*忽略*", "*无视*", "*無視*", "*忘记*", "*忘掉*",
        "*忘記*", "*不要理会*", "*不要遵守*", "*绕过*", "*跳过*", "*忘れ*", "*従わない*", "*무시*", "*잊어*", "*تجاهل*", "*انس *",
        "*अनदेखा*", "*नज़रअंदाज़*", "*भूल जा*",
    ]),
    (PRIOR, &[
        "vorherig*", "bisherig*", "fruher*", "vorig*", "obig*", "alle", "alles", "vorangegangen*",
        "precedent*", "anterieur*", "ci-dessus", "toutes", "tous", "anterior*", "previa*", "previo*", "todas",
        "todos", "arriba", "tutte", "tutti", "sopra", "acima", "alle", "eerdere", "vorige", "wszystkie",
        "poprzedni*", "onceki", "tum", "предыдущ*", "прежн*", "все", "всех", "выше*", "ранее", "*之前*", "*以前*",
        "*先前*", "*所有*", "*上述*", "*以上*", "*前面*", "*これまで*", "*前の*", "*すべて*", "*全て*", "*全ての*", "*上記*", "*従来*",
        "*이전*", "*모든*", "*السابقة*", "*جميع*", "*पिछले*", "*सभी*", "*पहले*",
    ]),
    (INSTRUCTION, &[
        "anweisung*", "regel", "regeln", "vorgaben", "befehl*", "instruktion*", "instructions", "consignes",
        "regles", "directives", "ordres", "instruccion*", "reglas", "ordenes", "indicaciones", "istruzion*",
        "regole", "direttive", "instruc*", "regras", "ordens", "instructies", "regels", "instrukcj*",
        "polecen*", "talimat*", "инструкци*", "указани*", "правил*", "команд*", "*指令*", "*指示*", "*规则*",
        "*規則*", "*命令*", "*提示词*", "*说明*", "*要求*", "*ルール*", "*プロンプト*", "*지시*", "*명령*", "*규칙*", "*التعليمات*",
        "*निर्देश*",
    ]),
    (BEFORE, &[
        "bevor", "avant de", "avant d'", "antes de", "prima di", "antes de", "voordat", "przed", "перед*",
        "прежде чем", "*之前*", "*前に*", "*하기 전*",
    ]),
    (MUST, &[
        "muss", "mussen", "musst", "immer", "doit", "devez", "dois", "toujours", "debe", "debes", "siempre",
        "devi", "deve", "sempre", "moet", "altijd", "musisz", "долж*", "всегда", "*必须*", "*务必*", "*必ず*",
        "*반드시*",
    ]),
    (CALL, &[
        "rufe", "verwende", "benutze", "fuhre", "appelle", "appelez", "utilise", "utilisez", "llama",
        "ejecuta", "usa", "utiliza", "chiama", "esegui", "chame", "execute", "вызови*", "запусти*", "*调用*",
        "*运行*", "*执行*", "*呼び出*", "*実行*",
    ]),
    (NOT, &[
        "nicht", "niemals", "ohne", "ne", "n'en", "pas", "jamais", "sans", "no", "nunca", "sin", "non", "mai",
        "senza", "nao", "sem", "niet", "nooit", "nie", "не", "никогда", "без", "*不要*", "*别*", "*勿*", "*不得*",
        "*不能*", "*ないで*", "*せずに*", "*지 마*", "*لا *", "*मत*",
    ]),
    (TELL, &[
        "sag", "sage", "sagen", "erwahne*", "erzahl*", "informiere*", "mitteilen", "verrate*", "dis", "dites",
        "dire", "parle*", "mentionne*", "informe*", "reveler", "revele*", "digas", "diga", "decir",
        "mencion*", "informar", "reveles", "dire", "dirlo", "informare", "menzion*", "rivelare", "rivela*",
        "diga", "dizer", "contar", "conte", "informe", "mencione", "vertel", "zeg", "mow", "говори*",
        "сообща*", "упомина*", "рассказыва*", "раскрыва*", "*告诉*", "*告知*", "*提及*", "*透露*", "*知らせ*", "*伝え*",
        "*言わ*", "*教え*", "*말하*", "*알리*", "*تخبر*", "*बता*",
    ]),
    (USER, &[
        "benutzer*", "nutzer*", "anwender*", "utilisateur*", "usuario*", "usuaria", "utente", "utenti",
        "gebruiker", "uzytkownik*", "kullanici*", "пользовател*", "*用户*", "*使用者*", "*ユーザー*", "*利用者*", "*사용자*",
        "*المستخدم*", "*उपयोगकर्ता*",
    ]),
    (STEALTH | HUSH, &[
        "heimlich", "stillschweigend", "en secret", "discretement", "en cachette", "a l'insu", "en secreto",
        "a escondidas", "sigilosamente", "in segreto", "di nascosto", "em segredo", "as escondidas",
        "stiekem", "тайно", "незаметно", "втайне", "*悄悄*", "*偷偷*", "*暗中*", "*秘密地*", "*保密*", "*こっそり*", "*内緒*",
        "*秘密裏*", "*몰래*", "*سرا*", "*चुपके*",
    ]),
    (SEND, &[
        "sende", "senden", "schicke", "ubermittle", "lade hoch", "leite", "fuge", "envoie", "envoyez",
        "envoyer", "transmets", "transmettez", "joins", "envia", "envie", "enviar", "manda", "mande",
        "adjunta", "sube", "invia", "inviare", "allega", "carica", "passa", "envie", "anexe", "stuur",
        "wyslij", "gonder", "отправ*", "перешли*", "передай*", "загрузи*", "вставь*", "*发送*", "*发给*", "*上传*",
        "*传递*", "*转发*", "*送信*", "*送っ*", "*送る*", "*アップロード*", "*含め*", "*보내*", "*전송*", "*أرسل*", "*भेज*",
    ]),
    (READ, &[
        "lies", "lese", "lesen", "offne", "lis", "lisez", "lire", "ouvre", "ouvrez", "lee", "lea", "leer",
        "abre", "leggi", "leggere", "apri", "leia", "ler", "abra", "lees", "przeczytaj", "oku", "прочита*",
        "читай*", "открой*", "считай*", "*读取*", "*阅读*", "*打开*", "*查看*", "*获取*", "*読み*", "*読ん*", "*開い*", "*읽*",
        "*اقرأ*", "*पढ़*",
    ]),
    (SECRET, &[
        "passwort", "passworter", "kennwort", "zugangsdaten", "schlussel", "geheimnisse", "mot de passe",
        "mots de passe", "identifiants", "cles privees", "cle privee", "cles api", "contrasena*",
        "credenciales", "clave privada", "claves", "credenziali", "chiave privata", "chiavi", "senha*",
        "credenciais", "chave privada", "chaves", "wachtwoord*", "haslo", "sifre*", "парол*",
        "учетные данные", "ключ*", "токен*", "секрет*", "*密码*", "*密钥*", "*凭证*", "*凭据*", "*私钥*", "*令牌*",
        "*パスワード*", "*認証情報*", "*秘密鍵*", "*鍵*", "*トークン*", "*비밀번호*", "*인증 정보*", "*كلمة المرور*", "*पासवर्ड*",
    ]),
    (CHAT, &[
        "gesprach*", "unterhaltung", "chatverlauf", "konversation", "la conversation", "historique",
        "conversacion*", "historial", "conversazion*", "cronologia", "conversa", "historico", "разговор*",
        "переписк*", "диалог*", "истори*", "*对话*", "*聊天记录*", "*系统提示*", "*会話*", "*履歴*", "*システムプロンプト*", "*대화*",
    ]),
    (CONTENT, &[
        "inhalt*", "contenu", "contenido", "contenuto", "conteudo", "inhoud", "содержим*", "*内容*", "*中身*",
        "*내용*",
    ]),
    (FILE, &[
        "datei*", "fichier*", "archivo*", "arquivo*", "bestand", "plik", "dosya*", "файл*", "*文件*", "*ファイル*",
        "*파일*",
    ]),
    (PERSONA, &[
        "du bist jetzt", "ab jetzt bist du", "tu es maintenant", "vous etes maintenant", "ahora eres",
        "a partir de ahora", "ora sei", "d'ora in poi", "agora voce e", "a partir de agora", "теперь ты",
        "отныне ты", "*你现在是*", "*从现在开始*", "*あなたは今から*", "*今から*", "*이제부터*",
    ]),
    (SYSTEM_PROMPT, &[
        "systemprompt", "system-prompt", "prompt systeme", "prompt del sistema", "prompt di sistema",
        "prompt do sistema", "системный промпт", "системн* промпт", "*系统提示词*", "*システムプロンプト*",
    ]),
    (REVEAL, &[
        "gib aus", "zeige", "affiche", "montre", "muestra", "revela", "mostra", "rivela", "mostre", "revele",
        "покажи*", "выведи*", "раскрой*", "*输出*", "*显示*", "*泄露*", "*表示*", "*出力*",
    ]),
    (FORMER, &[
        "vorherig*", "bisherig*", "fruher*", "vorig*", "obig*", "vorangegangen*", "precedent*", "anterieur*",
        "ci-dessus", "anterior*", "previa*", "previo*", "acima", "arriba", "eerdere", "vorige", "poprzedni*",
        "onceki", "предыдущ*", "прежн*", "*之前*", "*以前*", "*先前*", "*上述*", "*以上*", "*これまで*", "*前の*", "*이전*",
        "*السابقة*", "*पिछले*",
    ]),
    (FOREIGN_NOT, &[
        "nicht", "niemals", "не", "pas", "jamais", "niet", "nie", "*不要*", "*ないで*", "*지 마*",
    ]),
    (HEED, &[
        "beachte", "befolge", "folge", "suis", "suivez", "sigue", "siga", "segui", "следуй*", "volg",
    ]),
    (HUSH, &[
        "*知らせない*", "*知らせず*", "*伝えない*", "*言わない*", "*告げず*", "*通知せず*", "*알리지 마*", "*알리지 않*", "*말하지 마*", "*모르게*", "nao informe",
        "nao conte ao", "nao avise", "sem avisar", "sem informar", "ohne den nutzer", "ohne den benutzer", "ohne dem nutzer",
        "ohne dem benutzer", "nicht erwahnen", "verschweige", "sans informer", "sans prevenir", "sans en parler", "ne previens pas",
        "ne previenez pas", "sin informar", "sin avisar", "sin decir", "no informes al", "no avises al", "senza informare",
        "senza avvisare", "senza dirlo", "non avvisare", "non informare", "zonder de gebruiker", "niet vermelden", "nie informuj",
        "bez wiedzy", "kullaniciya soyleme", "haber vermeden", "не сообщай*", "не говори*", "не упоминай*", "без ведома",
        "*不要告诉*", "*不要通知*", "*别告诉*", "*不得告知*", "*不要提及*", "*不要让用户*", "*瞒着*", "*دون إخبار*", "*لا تخبر*", "*बताए बिना*", "*मत बताना*",
    ]),
    (HIGHER | PRIORITY, &[
        "tem prioridade sobre", "tiene prioridad sobre", "a la priorite sur", "hat vorrang vor", "ha la precedenza su",
        "имеет приоритет над", "*优先于*", "*より優先*", "*보다 우선*",
    ]),
    (PREEMPT, &[
        "*前に必ず*", "*使う前に*", "*する前に*", "*먼저 호출*", "*전에 항상*", "antes de usar qualquer", "antes de qualquer", "antes de usar cualquier",
        "antes de cualquier", "avant d'utiliser", "avant toute", "avant chaque", "bevor du", "bevor sie", "vor jedem", "vor jeder", "prima di usare",
        "prima di ogni", "перед каждым", "перед использованием", "*在使用任何*", "*在调用任何*", "*每次回复*", "*每次调用*",
    ]),
];
