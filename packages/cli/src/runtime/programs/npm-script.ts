import { delimiter, dirname, join } from 'node:path'

type Env = Readonly<Record<string, string | undefined>>

/** Variables that tell of the script, its checkout and its npm. */
const OF_SCRIPT =
  /^npm_(?!config_)|^npm_config_(?:(?:local|global)_prefix|node_gyp|npm_version|user_agent)$|^(?:INIT_CWD|COLOR)$/

/**
 * The environment of the shell that called `npm run palisade`, if that started this program. With
 * the variables of npm a command would find the programs of the checkout before those of the
 * person, an npm in it would take the checkout for its project, and after `npm run -s` be silent.
 *
 * npm does not tell the former values. A setting stays unless it has the value that npm derives.
 */
export function withoutNpmScript(env: Env): Env {
  if (env['npm_lifecycle_event'] !== 'palisade') return env
  const derived = derivedValues(env)
  const kept = Object.entries(env).filter(
    ([name, value = '']) => !OF_SCRIPT.test(name) && derived.get(name)?.includes(value) !== true,
  )
  const { PATH: path } = env
  return {
    ...Object.fromEntries(kept),
    ...(path === undefined ? {} : { PATH: withoutScriptFolders(path) }),
  }
}

/** npm puts `node_modules/.bin` of each folder of the project first, then its own folder. */
function withoutScriptFolders(path: string): string {
  const folders = path.split(delimiter)
  const own = folders.findIndex((folder) => !folder.endsWith('/node_modules/.bin'))
  return folders[own]?.endsWith('/node-gyp-bin') === true
    ? folders.slice(own + 1).join(delimiter)
    : path
}

/** See `set-envs.js` of @npmcli/config. */
function derivedValues(env: Env): ReadonlyMap<string, readonly string[]> {
  const of = (name: string): string => env[name] ?? ''
  const atHome = (name: string): readonly string[] => [join(of('HOME'), name)]
  const node = of('npm_node_execpath')
  return new Map([
    ['NODE', [node]],
    ['npm_config_allow_scripts', ['']],
    ['npm_config_cache', atHome('.npm')],
    ['npm_config_globalconfig', [join(of('npm_config_global_prefix'), 'etc', 'npmrc')]],
    ['npm_config_init_module', atHome('.npm-init.js')],
    ['npm_config_loglevel', ['silent']],
    ['npm_config_noproxy', ['']],
    ['npm_config_prefix', [of('npm_config_local_prefix'), dirname(dirname(node))]],
    ['npm_config_userconfig', atHome('.npmrc')],
  ])
}
