type Env = Readonly<Record<string, string | undefined>>

const OF_SCRIPT =
  /^npm_(?:lifecycle|package)_|^npm_config_(?:(?:local_)?prefix|loglevel)$|^INIT_CWD$/

/**
 * The environment without the variables of `npm run`, when that started this program: an npm in a
 * command would take the checkout for its project, and after `npm run -s` it would be silent.
 */
export function withoutNpmScript(env: Env): Env {
  if (env['npm_lifecycle_event'] !== 'palisade') return env
  return Object.fromEntries(Object.entries(env).filter(([name]) => !OF_SCRIPT.test(name)))
}
