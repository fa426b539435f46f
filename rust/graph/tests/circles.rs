//! Traces as graphs, and the groups among which money went round.

use headwater_graph::source::Node;
use headwater_graph::trace::{Settings, circles, graph};
use petgraph::algo::{connected_components, dijkstra};

use crate::world::{Transfer, World, paid};

const SETTINGS: Settings = Settings {
    outward: 4,
    inward: 0,
    limit: 10,
    accumulate: true,
    max_nodes: 100,
    method: None,
    is_time_ordered: true,
};

#[test]
fn circles_of_a_trace_are_those_found_by_hand() {
    // 0 pays 1 and 4. 1, 2 and 3 pay round; 4 and 5 pay each other; 6 only gets.
    let mut world = World::new(&[
        paid(0, 1, 90),
        paid(1, 2, 80),
        paid(2, 3, 70),
        paid(3, 1, 60),
        paid(0, 4, 50),
        paid(4, 5, 40),
        paid(5, 4, 30),
        paid(3, 6, 20),
    ]);
    let trace = world.trace(SETTINGS);
    let graph = graph(&trace);
    assert_eq!((graph.node_count(), graph.edge_count()), (7, 8));
    assert_eq!(connected_components(&graph), 1);
    assert_eq!(circles(&graph), [vec![1, 2, 3], vec![4, 5]]);
    let place = |node: Node| graph.node_indices().find(|place| graph[*place].node == node).unwrap();
    assert_eq!(dijkstra(&graph, place(0), Some(place(6)), |_| 1_u32)[&place(6)], 4);
}

#[test]
fn graph_edges_run_with_the_money_once_per_asset() {
    // Inward from 0: 1 paid it in two assets, 2 paid 1.
    let second = Transfer { asset: 1, ..paid(1, 0, 5) };
    let mut world = World::new(&[paid(2, 1, 9), paid(1, 0, 8), second]);
    let trace = world.trace(Settings { outward: 0, inward: 3, ..SETTINGS });
    let graph = graph(&trace);
    let ends: Vec<_> = graph
        .edge_indices()
        .map(|edge| graph.edge_endpoints(edge).map(|(from, to)| (graph[from].node, graph[to].node)).unwrap())
        .collect();
    assert_eq!(ends, [(1, 0), (1, 0), (2, 1)]);
    assert!(circles(&graph).is_empty());
}

#[test]
fn circles_without_time_order_may_be_no_flow() {
    // 2 paid 1 before 1 paid it.
    let mut world = World::new(&[paid(2, 1, 7), paid(0, 1, 9), paid(1, 2, 8)]);
    assert!(circles(&graph(&world.trace(SETTINGS))).is_empty());
    let whenever = world.trace(Settings { is_time_ordered: false, ..SETTINGS });
    assert_eq!(circles(&graph(&whenever)), [vec![1, 2]]);
}
