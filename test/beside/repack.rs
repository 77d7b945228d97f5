// A function that panics once; its caller catches that.
use std::hint::black_box;
use std::panic;

#[inline(never)]
pub fn repack(n: usize) -> usize {
    let blocks: Vec<Vec<u8>> = (0..4000).map(|i| vec![(i % 251) as u8; 10000 + n]).collect();
    if n == 3 {
        panic!("the third");
    }
    black_box(&blocks).iter().map(|block| block[7] as usize).sum()
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    println!("{}", (0..5).map(|n| panic::catch_unwind(|| repack(n)).unwrap_or(1)).sum::<usize>());
}
