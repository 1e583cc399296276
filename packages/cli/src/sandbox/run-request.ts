/** The options of `palisade run`, before they are read. */
export interface RunRequest {
  /** Null for the command of the profile. */
  readonly command: readonly [string, ...string[]] | null
  /** Each as `PATH`, `PATH:ro` or `PATH:rw`; empty for the working directory. */
  readonly workspace: readonly string[]
  /** Each as `NAME` or `NAME=VALUE`. */
  readonly env: readonly string[]
  /** Each as `NAME=VALUE`, or several with commas. */
  readonly limit: readonly string[]
  /** Each as `PORT` or `HOST_PORT:PORT`. */
  readonly publish: readonly string[]
  /** Name of a profile of the project, empty to list them; null for no profile. */
  readonly profile: string | null
  /** Keeps the changes of the command apart; `apply` copies out those that policy grants. */
  readonly strict: { readonly apply: boolean } | null
}
