//! The store as its readers and writers meet it. One binary, because linking takes longer than running.

mod approximate;
mod clusters;
mod cold_read;
mod crash;
mod disk;
mod edges;
mod faults;
mod feed;
mod feed_crash;
mod flips;
mod fuzz;
mod holders;
mod joins;
mod labels_crash;
mod load;
mod logs;
mod market;
mod openings;
mod scale;
mod soak;
