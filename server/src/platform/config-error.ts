/** `ERR_CONFIG_INVALID`: what keeps the server from starting; one line for each problem. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly code = 'ERR_CONFIG_INVALID'
  readonly problems: readonly string[]

  constructor(problems: readonly string[], options: { cause?: unknown } = {}) {
    super(problems.join('\n'), options)
    this.problems = problems
  }
}
