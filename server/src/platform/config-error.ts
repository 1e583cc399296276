/** `ERR_CONFIG_INVALID`: the problems that keep the server from starting, one line for each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly code = 'ERR_CONFIG_INVALID'
  readonly problems: readonly string[]

  constructor(problems: readonly string[], options: { cause?: unknown } = {}) {
    super(problems.join('\n'), options)
    this.problems = problems
  }
}
