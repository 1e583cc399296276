import { join } from 'node:path'

const FOREIGN =
  /^(?:https?_proxy|all_proxy|ftp_proxy|no_proxy|node_use_env_proxy|node_options|database_url|git_.*|palisade_.*)$/i

/**
 * The caller's environment without anything that could lead a program past our proxy or to the
 * caller's own settings. `folder` is the demo's own.
 */
export function demoEnvironment(env: NodeJS.ProcessEnv, folder: string): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => !FOREIGN.test(name))
  return {
    ...Object.fromEntries(kept),
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, 'config'),
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    PALISADE_CONFIG_DIR: join(folder, 'config', 'palisade'),
    PALISADE_DATA_DIR: join(folder, 'data'),
    PALISADE_AGENT_SOCKET: join(folder, 'agent.sock'),
    PALISADE_PORT: '0',
    PALISADE_PROXY_PORT: '0',
    // Every fetch of the demo is a `palisade sync`: the clock and hints cause no other.
    PALISADE_SYNC_SCHEDULE: '0 0 1 1 *',
    PALISADE_HINTS: 'off',
    // However busy the machine is, the server puts no fetch off.
    PALISADE_OVERLOAD_DELAY_MS: '0',
  }
}
