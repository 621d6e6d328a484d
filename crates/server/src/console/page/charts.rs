//! The charts: what happened over time, and what grew.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::routing::get;

use super::super::api::Wanted;
use super::super::enter::Reply;
use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::view::{BarChart, LineChart, RANGES, Trend, TrendQuery, time, trend_chart};
use super::{Frame, html_counting};

/// Where they are.
pub(super) fn routes() -> Router<Arc<Front>> {
    Router::new().route("/charts", get(show))
}

#[derive(Template)]
#[template(path = "charts.html")]
struct ChartsPage {
    frame: Frame,
    trend: Trend,
    calls: BarChart,
    refusals: BarChart,
    latency: LineChart,
    words: [String; 3],
}

impl ChartsPage {
    const fn ranges(&self) -> [(&'static str, &'static str, u64, u64); 3] {
        RANGES
    }

    /// Writes a time in microseconds, where there is one.
    fn took(micros: &Option<u64>) -> String {
        micros.map_or_else(|| "–".to_owned(), time::micros)
    }
}

async fn show(
    State(front): State<Arc<Front>>,
    caller: Caller,
    Wanted(query): Wanted<TrendQuery>,
) -> Result<Reply, Fault> {
    let trend = Trend::read(&front, &query).await?;
    let frame = Frame::new(&front, &caller, "Charts", "/charts").await;
    let (calls, refusals) = (trend_chart::calls(&trend), trend_chart::refusals(&trend));
    let (latency, words) = (trend_chart::latency(&trend), trend_chart::words(&trend));
    let is_complete = trend.complete;
    html_counting(&ChartsPage { frame, trend, calls, refusals, latency, words }, is_complete)
}
