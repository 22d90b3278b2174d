package cli

const isLinux = true
