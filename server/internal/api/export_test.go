package api

// RepeatOf is what an operation does with a repeated request.
var RepeatOf = repeatOf
