import { BYPASSED } from '@palisade/client'
import { fail, ok, warn, type Check } from './check.ts'

type Env = Readonly<Record<string, string | undefined>>

const PROXY_VARIABLES = [
  'HTTP_PROXY',
  'http_proxy',
  'HTTPS_PROXY',
  'https_proxy',
  'ALL_PROXY',
  'all_proxy',
] as const
const BYPASS_VARIABLES = ['NO_PROXY', 'no_proxy', 'npm_config_noproxy'] as const
const MEND = 'run `eval "$(palisade env)"` in this shell, or start programs with `palisade exec`'

/** Checks of the variables that this command was started with. */
export function checkShell(env: Env, proxy: string): readonly Check[] {
  return [checkVariables(env, proxy), checkBypass(env)]
}

function checkVariables(env: Env, proxy: string): Check {
  const other = PROXY_VARIABLES.filter((name) => !isProxy(env[name], proxy))
  if (other.length === 0) return ok('shell', 'programs of this shell use the proxy')
  if (other.length === PROXY_VARIABLES.length)
    return warn('shell', 'programs of this shell do not use the proxy', MEND)
  return warn('shell', `these do not name the proxy: ${other.join(', ')}`, MEND)
}

function isProxy(value: string | undefined, proxy: string): boolean {
  return value?.replace(/\/$/, '') === proxy
}

function checkBypass(env: Env): Check {
  const wide = BYPASS_VARIABLES.flatMap((name) =>
    (env[name] ?? '')
      .split(/[\s,]+/)
      .filter((entry) => entry !== '' && !isLoopback(entry))
      .map((entry) => ({ name, entry })),
  )
  if (wide.length === 0) return ok('bypass', 'only loopback bypasses the proxy')
  const all = wide.find(({ entry }) => entry === '*')
  if (all !== undefined) return fail('bypass', `${all.name} lets every host bypass the proxy`, MEND)
  const shown = wide.slice(0, 5).map(({ entry }) => entry)
  return warn('bypass', `these hosts bypass the proxy: ${shown.join(', ')}`, MEND)
}

function isLoopback(entry: string): boolean {
  const host = entry.replace(/^\[(.*)\]$/, '$1').replace(/^\./, '')
  return (
    (BYPASSED as readonly string[]).includes(host) || /^127(?:\.\d{1,3}){3}(?:\/8)?$/.test(host)
  )
}
