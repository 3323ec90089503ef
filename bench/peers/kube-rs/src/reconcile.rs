//! The kube-rs side of the reconcile round of bench/peers: a child ConfigMap and a status for each Widget.
//!
//!     kube-rs reconcile --kubeconfig F --count N --workers N
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ObjectMeta, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::controller::{Action, Config as ControllerConfig, Controller};
use kube::runtime::{WatchStreamExt, predicates, reflector, watcher};
use kube::{Api, Client, Config, Resource, ResourceExt};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::{cpu_seconds, memory, monotonic_ns};

// By hand, as Workload is.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Widget {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: WidgetSpec,
    #[serde(default)]
    status: Option<WidgetStatus>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct WidgetSpec {
    #[serde(default)]
    message: String,
    #[serde(default)]
    size: i32,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct WidgetStatus {
    #[serde(default)]
    observed_generation: i64,
    #[serde(default)]
    ready: bool,
}

impl Resource for Widget {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        "Widget".into()
    }
    fn group(_: &()) -> Cow<'_, str> {
        "bench.example.com".into()
    }
    fn version(_: &()) -> Cow<'_, str> {
        "v1".into()
    }
    fn plural(_: &()) -> Cow<'_, str> {
        "widgets".into()
    }
    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

struct Shared {
    client: Client,
    count: usize,
    ready: Mutex<HashSet<String>>,
    done: tokio::sync::Notify,
}

async fn reconcile(widget: Arc<Widget>, shared: Arc<Shared>) -> Result<Action, kube::Error> {
    let (namespace, name) = (widget.namespace().unwrap_or_default(), widget.name_any());
    let child = ConfigMap {
        metadata: ObjectMeta {
            namespace: Some(namespace.clone()),
            name: Some(name.clone()),
            owner_references: Some(widget.controller_owner_ref(&()).into_iter().collect()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([
            ("message".to_string(), widget.spec.message.clone()),
            ("size".to_string(), widget.spec.size.to_string()),
        ])),
        ..ConfigMap::default()
    };
    let maps: Api<ConfigMap> = Api::namespaced(shared.client.clone(), &namespace);
    maps.patch(&name, &PatchParams::apply("bench").force(), &Patch::Apply(&child)).await?;

    let wanted = WidgetStatus { observed_generation: widget.meta().generation.unwrap_or(0), ready: true };
    if widget.status.as_ref() == Some(&wanted) {
        return Ok(Action::await_change());
    }
    let widgets: Api<Widget> = Api::namespaced(shared.client.clone(), &namespace);
    let status = serde_json::json!({ "status": wanted });
    widgets.patch_status(&name, &PatchParams::default(), &Patch::Merge(&status)).await?;
    let mut ready = shared.ready.lock().unwrap();
    ready.insert(format!("{namespace}/{name}"));
    if ready.len() == shared.count {
        shared.done.notify_one();
    }
    Ok(Action::await_change())
}

fn again(_: Arc<Widget>, error: &kube::Error, _: Arc<Shared>) -> Action {
    eprintln!("kube-rs: {error}");
    Action::requeue(Duration::from_secs(1))
}

pub async fn run(mut args: impl Iterator<Item = String>) -> Result<(), Box<dyn std::error::Error>> {
    let start = monotonic_ns();
    let mut flags = HashMap::new();
    while let Some(arg) = args.next() {
        flags.insert(arg, args.next().ok_or("a flag without its value")?);
    }
    let flag = |name: &str| flags.get(name).cloned().ok_or(format!("{name} is missing"));
    let kubeconfig = Kubeconfig::read_from(flag("--kubeconfig")?)?;
    let client = Client::try_from(Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?)?;
    let shared = Arc::new(Shared {
        client: client.clone(),
        count: flag("--count")?.parse()?,
        ready: Mutex::new(HashSet::new()),
        done: tokio::sync::Notify::new(),
    });

    let (reader, writer) = reflector::store();
    let widgets = watcher(Api::<Widget>::all(client.clone()), watcher::Config::default())
        .default_backoff()
        .reflect(writer)
        .applied_objects()
        .predicate_filter(predicates::generation, Default::default());
    let controller = Controller::for_stream(widgets, reader)
        .owns(Api::<ConfigMap>::all(client), watcher::Config::default())
        .with_config(ControllerConfig::default().concurrency(flag("--workers")?.parse()?))
        .run(reconcile, again, shared.clone())
        .for_each(|result| async move {
            if let Err(error) = result {
                eprintln!("kube-rs: {error}");
            }
        });
    tokio::spawn(controller);
    shared.done.notified().await;
    println!(
        r#"{{"phase":"reconciled","wall":{:.6},"cpu":{:.6}}}"#,
        (monotonic_ns() - start) as f64 / 1e9,
        cpu_seconds()
    );

    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        if line != "memory" {
            return Err(format!("what is {line:?}?").into());
        }
        println!(
            r#"{{"phase":"memory","cpu":{:.6},"rss":{},"peak":{}}}"#,
            cpu_seconds(),
            memory("VmRSS:"),
            memory("VmHWM:")
        );
    }
    Ok(())
}
