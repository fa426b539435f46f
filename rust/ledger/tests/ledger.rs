//! The store as its readers and writers meet it. One binary, because linking takes longer than running;
//! tests that start processes have their own: between fork and exec a child holds the locks of its parent.

mod approximate;
mod carried;
mod clusters;
mod disk;
mod disputes;
mod double_spends;
mod edges;
mod faults;
mod feed;
mod flips;
mod fuzz;
mod holders;
mod joins;
mod load;
mod logs;
mod market;
mod openings;
mod pins;
mod scale;
mod soak;
mod tail;
