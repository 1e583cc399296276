/** Who starts the agent: one user for itself, or the machine for all users. */
export type ServiceKind = 'user' | 'system'

export const UNIT_NAME = 'palisade-agent.service'

export interface UnitSettings {
  /** The words that start the agent, each absolute where it is a path. */
  readonly command: readonly string[]
  /** The variables of the agent. */
  readonly variables: Readonly<Record<string, string>>
}

/**
 * The text of the unit. Exit codes 2 and 78 mean that a setting has to change, so another start
 * would fail as well.
 */
export function formatUnit(kind: ServiceKind, { command, variables }: UnitSettings): string {
  const isUser = kind === 'user'
  const environment = Object.entries(variables).map(
    ([name, value]) => `Environment=${quoteWord(`${name}=${value}`)}`,
  )
  return [
    '[Unit]',
    `Description=Palisade agent of ${isUser ? '%u' : 'this machine'}`,
    'Documentation=man:palisade-agent(8)',
    ...(isUser ? [] : ['Wants=network-online.target', 'After=network-online.target']),
    '',
    '[Service]',
    'Type=exec',
    `ExecStart=${command.map((word, at) => quoteWord(word, at > 0)).join(' ')}`,
    ...environment,
    'Restart=on-failure',
    'RestartSec=5',
    'RestartPreventExitStatus=2 78',
    'TimeoutStopSec=15',
    'UMask=0077',
    ...(isUser ? USER_SETTINGS : SYSTEM_SETTINGS),
    '',
    '[Install]',
    `WantedBy=${isUser ? 'default.target' : 'multi-user.target'}`,
    '',
  ].join('\n')
}

/**
 * Sandboxes need user namespaces, mounts and a process of each: a unit that restricts namespaces,
 * system calls or what a process sees would keep them from being made. `Delegate` lets the agent
 * bound the resources of a sandbox.
 */
const USER_SETTINGS = ['NoNewPrivileges=yes', 'LockPersonality=yes', 'Delegate=yes']

/**
 * An agent for all users makes no sandboxes, so it needs no namespaces. The two capabilities let it
 * find out which program of which user made a connection. Without CAP_DAC_OVERRIDE and others root
 * can write its own files alone. `MemoryDenyWriteExecute` would keep Node from compiling, and
 * `ProtectProc` would hide the programs.
 */
const SYSTEM_SETTINGS = [
  'StateDirectory=palisade',
  'StateDirectoryMode=0700',
  'RuntimeDirectory=palisade',
  'RuntimeDirectoryMode=0755',
  'CapabilityBoundingSet=CAP_SYS_PTRACE CAP_DAC_READ_SEARCH',
  'NoNewPrivileges=yes',
  'LockPersonality=yes',
  'PrivateDevices=yes',
  'PrivateTmp=yes',
  'ProtectClock=yes',
  'ProtectControlGroups=yes',
  'ProtectHome=yes',
  'ProtectHostname=yes',
  'ProtectKernelLogs=yes',
  'ProtectKernelModules=yes',
  'ProtectKernelTunables=yes',
  'ProtectSystem=strict',
  'RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK',
  'RestrictNamespaces=yes',
  'RestrictRealtime=yes',
  'RestrictSUIDSGID=yes',
  'SystemCallArchitectures=native',
  'SystemCallFilter=@system-service',
  'SystemCallErrorNumber=EPERM',
]

/**
 * Quotes a word, see systemd.service(5): `%` begins a specifier, and in an argument `$` a variable.
 * Throws a `RangeError` for a control character, which no path of a program should have.
 */
function quoteWord(word: string, isArgument = false): string {
  if (/\p{Cc}/u.test(word))
    throw new RangeError(`\`${JSON.stringify(word)}\` has a control character`)
  const escaped = word.replaceAll(/["\\]/g, (char) => `\\${char}`).replaceAll('%', '%%')
  return `"${isArgument ? escaped.replaceAll('$', '$$$$') : escaped}"`
}
