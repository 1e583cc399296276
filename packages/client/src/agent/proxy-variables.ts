/**
 * Hosts that programs reach without the proxy: only loopback, where their own servers listen. The
 * proxy protects it, and a connection to it does not leave the machine. Servers print `0.0.0.0`,
 * which is loopback for a connection.
 */
export const BYPASSED = ['localhost', '127.0.0.1', '0.0.0.0', '::1'] as const

/** Set to the proxy's URL. curl reads `http_proxy` in lower case only, others differ. */
const URL_VARIABLES = [
  'HTTP_PROXY',
  'http_proxy',
  'HTTPS_PROXY',
  'https_proxy',
  'ALL_PROXY',
  'all_proxy',
  // These programs prefer their own files to the variables above, but not to these.
  'npm_config_proxy',
  'npm_config_https_proxy',
  'YARN_HTTP_PROXY',
  'YARN_HTTPS_PROXY',
  'PIP_PROXY',
  'CARGO_HTTP_PROXY',
] as const
const BYPASS_VARIABLES = ['NO_PROXY', 'no_proxy', 'npm_config_noproxy'] as const
/** Without it Node's own `fetch` and `http` ignore the variables. */
const NODE_VARIABLE = 'NODE_USE_ENV_PROXY'

/**
 * Variables with which programs use the proxy at `http://127.0.0.1:PORT`, whatever else is in their
 * environment, and reach the hosts of `bypassed` without it.
 */
export function proxyVariables(
  proxy: string,
  bypassed: readonly string[] = BYPASSED,
): ReadonlyMap<string, string> {
  return new Map([
    ...URL_VARIABLES.map((name) => [name, proxy] as const),
    ...BYPASS_VARIABLES.map((name) => [name, bypassed.join(',')] as const),
    [NODE_VARIABLE, '1'],
  ])
}
