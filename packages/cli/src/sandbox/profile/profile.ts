/** A named set of options of `palisade run`. It widens no policy: the agent asks for each. */
export interface Profile {
  readonly name: string
  /** Each as `PATH`, `PATH:ro` or `PATH:rw`, as written. */
  readonly workspaces: readonly string[]
  /** Names of variables of the person. */
  readonly env: readonly string[]
  /** Names and values of limits, as written. */
  readonly limits: readonly (readonly [string, string])[]
  /** Each as `PORT` or `HOST_PORT:PORT`, as written. */
  readonly publish: readonly string[]
  /** The command of a run that names none; null without one. */
  readonly command: readonly [string, ...string[]] | null
}

/**
 * Names whose values act on a program before it begins, replace what the sandbox sets, or name a
 * socket outside. A project must not ask for them.
 */
const REFUSED =
  /^(?:LD_|DYLD_|PALISADE_|BASH_FUNC_|GIT_CONFIG)|^(?:NODE_OPTIONS|BASH_ENV|ENV|HOME|PATH|PYTHONSTARTUP|PERL5OPT|RUBYOPT|JAVA_TOOL_OPTIONS|SSH_AUTH_SOCK|GPG_AGENT_INFO|DBUS_SESSION_BUS_ADDRESS|XAUTHORITY)$|_PROXY$/i
const NAME = /^[A-Za-z_]\w{0,127}$/

/** The fault of a variable's name in a profile, or null. */
export function variableProblem(name: string): string | null {
  if (!NAME.test(name)) return `\`${name}\` is not the name of a variable; write names only`
  if (REFUSED.test(name))
    return `a profile cannot pass \`${name}\`; the person can, with \`--env ${name}\``
  return null
}
