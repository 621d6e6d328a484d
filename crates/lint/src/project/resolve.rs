//! Walking cargo's graph from the root packages.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use cargo_metadata::{DependencyKind, Metadata, Node, NodeDep, PackageId, TargetKind as Kind};
use serde::Deserialize;

use super::{Cfg, Dependency, Project, ProjectError, Role, SourcePackage, Target, TargetKind};

/// The crate whose handles mediate; the analysis ends at it, and so does what is the tool's own.
const RINGFENCE: &str = "ringfence";

pub(super) fn project(metadata: &str, lock: Option<&str>, host: &Cfg) -> Result<Project, ProjectError> {
    let metadata: Metadata =
        serde_json::from_str(metadata).map_err(|error| ProjectError::Metadata(error.to_string()))?;
    let checksums = lock.map(checksums).transpose()?.unwrap_or_default();
    let resolve = metadata.resolve.as_ref().ok_or(ProjectError::NoGraph)?;
    let roots = match &resolve.root {
        Some(root) => vec![root.clone()],
        None if metadata.workspace_default_members.is_available() => {
            metadata.workspace_default_members.to_vec()
        }
        None => metadata.workspace_members.clone(),
    };
    if roots.is_empty() {
        return Err(ProjectError::NoRoot);
    }
    let graph = Graph::new(&metadata, &resolve.nodes, host);
    let roles = graph.roles(&roots)?;
    let own = graph.own(&roots, &metadata.workspace_members)?;

    let mut packages = Vec::new();
    for (id, role) in &roles {
        let package = graph.package(id)?;
        let source = package.source.as_ref().map(|source| source.repr.clone());
        let key = (package.name.to_string(), package.version.to_string(), source);
        let features: BTreeSet<String> =
            graph.node(id)?.features.iter().map(|feature| feature.to_string()).collect();
        packages.push((
            (*id).clone(),
            SourcePackage {
                name: package.name.to_string(),
                version: package.version.to_string(),
                folder: package
                    .manifest_path
                    .parent()
                    .map(|folder| folder.as_std_path().to_path_buf())
                    .unwrap_or_default(),
                checksum: checksums.get(&key).cloned(),
                own: own.contains(id),
                role: *role,
                targets: targets(package, &features),
                features,
                known_features: package.features.keys().cloned().collect(),
                links: package.links.clone(),
                dependencies: Vec::new(),
                build_dependencies: Vec::new(),
                metadata: package.metadata.clone(),
            },
        ));
    }
    packages.sort_by(|(left_id, left), (right_id, right)| {
        let key = |package: &SourcePackage| (!package.own, package.name.clone(), package.version.clone());
        (key(left), left_id).cmp(&(key(right), right_id))
    });
    let indices: HashMap<PackageId, usize> =
        packages.iter().enumerate().map(|(index, (id, _))| (id.clone(), index)).collect();
    let packages = packages
        .into_iter()
        .map(|(id, mut package)| {
            for dependency in &graph.node(&id)?.deps {
                let Some(index) = indices.get(&dependency.pkg) else { continue };
                let link = Dependency { name: dependency.name.clone(), package: *index };
                if graph.uses(dependency, DependencyKind::Normal) {
                    package.dependencies.push(link.clone());
                }
                if graph.uses(dependency, DependencyKind::Build) {
                    package.build_dependencies.push(link);
                }
            }
            Ok(package)
        })
        .collect::<Result<Vec<_>, ProjectError>>()?;
    let root = metadata.workspace_root.as_std_path().to_path_buf();
    Ok(Project { root, packages, cfg: host.clone() })
}

struct Graph<'a> {
    packages: HashMap<&'a PackageId, &'a cargo_metadata::Package>,
    nodes: HashMap<&'a PackageId, &'a Node>,
    host: &'a Cfg,
}

impl<'a> Graph<'a> {
    fn new(metadata: &'a Metadata, nodes: &'a [Node], host: &'a Cfg) -> Self {
        Self {
            packages: metadata.packages.iter().map(|package| (&package.id, package)).collect(),
            nodes: nodes.iter().map(|node| (&node.id, node)).collect(),
            host,
        }
    }

    fn package(&self, id: &PackageId) -> Result<&'a cargo_metadata::Package, ProjectError> {
        self.packages.get(id).copied().ok_or_else(|| ProjectError::Missing(id.repr.clone()))
    }

    fn node(&self, id: &PackageId) -> Result<&'a Node, ProjectError> {
        self.nodes.get(id).copied().ok_or_else(|| ProjectError::Missing(id.repr.clone()))
    }

    fn uses(&self, dependency: &NodeDep, kind: DependencyKind) -> bool {
        dependency.dep_kinds.iter().any(|one| {
            one.kind == kind && one.target.as_ref().is_none_or(|platform| self.host.admits(platform))
        })
    }

    /// Returns every package that is used, with the role of its strongest user.
    fn roles(&self, roots: &[PackageId]) -> Result<BTreeMap<PackageId, Role>, ProjectError> {
        let mut roles = BTreeMap::new();
        let mut open: Vec<(PackageId, Role)> = roots.iter().map(|root| (root.clone(), Role::Run)).collect();
        while let Some((id, role)) = open.pop() {
            let package = self.package(&id)?;
            // What a procedural macro uses runs inside the compiler with it.
            let is_macro = package.targets.iter().any(|target| target.is_kind(Kind::ProcMacro));
            let role = if is_macro { Role::Build } else { role };
            match roles.get(&id) {
                Some(known) if *known >= role => continue,
                _ => roles.insert(id.clone(), role),
            };
            for dependency in &self.node(&id)?.deps {
                if self.uses(dependency, DependencyKind::Normal) {
                    open.push((dependency.pkg.clone(), role));
                }
                if self.uses(dependency, DependencyKind::Build) {
                    open.push((dependency.pkg.clone(), Role::Build));
                }
            }
        }
        Ok(roles)
    }

    /// Returns the members of the workspace that the roots reach without going through ringfence.
    fn own(&self, roots: &[PackageId], members: &[PackageId]) -> Result<BTreeSet<PackageId>, ProjectError> {
        let mut own = BTreeSet::new();
        let mut open = roots.to_vec();
        while let Some(id) = open.pop() {
            let is_end = self.package(&id)?.name.as_str() == RINGFENCE && !roots.contains(&id);
            if is_end || !members.contains(&id) || !own.insert(id.clone()) {
                continue;
            }
            let used = self.node(&id)?.deps.iter().filter(|dependency| {
                self.uses(dependency, DependencyKind::Normal) || self.uses(dependency, DependencyKind::Build)
            });
            open.extend(used.map(|dependency| dependency.pkg.clone()));
        }
        Ok(own)
    }
}

fn targets(package: &cargo_metadata::Package, features: &BTreeSet<String>) -> Vec<Target> {
    let mut targets: Vec<Target> = package
        .targets
        .iter()
        .filter(|target| target.required_features.iter().all(|feature| features.contains(feature)))
        .filter_map(|target| {
            let kind = target.kind.iter().find_map(|kind| match kind {
                Kind::Bin => Some(TargetKind::Binary),
                Kind::CustomBuild => Some(TargetKind::BuildScript),
                Kind::ProcMacro => Some(TargetKind::ProcMacro),
                Kind::Lib | Kind::RLib | Kind::DyLib | Kind::CDyLib | Kind::StaticLib => {
                    Some(TargetKind::Library)
                }
                _ => None,
            })?;
            Some(Target {
                name: target.name.replace('-', "_"),
                kind,
                source: Path::new(target.src_path.as_str()).to_path_buf(),
                edition: target.edition.as_str().parse().unwrap_or(2024),
            })
        })
        .collect();
    targets.sort_by(|left, right| (left.kind, &left.name).cmp(&(right.kind, &right.name)));
    targets
}

type Identity = (String, String, Option<String>);

/// Reads the checksums of a lock file.
fn checksums(lock: &str) -> Result<HashMap<Identity, String>, ProjectError> {
    #[derive(Deserialize)]
    struct Lock {
        #[serde(default)]
        package: Vec<Locked>,
    }
    #[derive(Deserialize)]
    struct Locked {
        name: String,
        version: String,
        source: Option<String>,
        checksum: Option<String>,
    }
    let lock: Lock = toml::from_str(lock).map_err(|error| ProjectError::Lock(error.message().to_owned()))?;
    let known = lock.package.into_iter().filter_map(|one| {
        let checksum = one.checksum?;
        Some(((one.name, one.version, one.source), checksum))
    });
    Ok(known.collect())
}
