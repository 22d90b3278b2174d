module github.com/holdfastdev/holdfast/bench/figures

go 1.26.0

require github.com/holdfastdev/holdfast v0.0.0

replace github.com/holdfastdev/holdfast => ../..
