import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { markText } from './marked-text.ts'
import { formatUnit, UNIT_NAME, type ServiceKind } from './unit.ts'

/** A file that the installation writes. */
export interface ServiceFile {
  readonly path: string
  readonly text: string
}

/** Where the files of one service go, and what the agent is started with. Paths are absolute. */
export interface ServicePlan {
  readonly kind: ServiceKind
  readonly command: readonly string[]
  /** The data directory of the agent. */
  readonly dataDir: string
  readonly units: string
  readonly manual: string
}

/** The data directory of the system service; `StateDirectory` of its unit makes it. */
const SYSTEM_DATA = '/var/lib/palisade'
/** Below `RuntimeDirectory` of its unit. */
export const SYSTEM_SOCKET = '/run/palisade/agent.sock'

/** The plan of the service for all users. */
export function planSystemService(command: readonly string[]): ServicePlan {
  return {
    kind: 'system',
    command,
    dataDir: SYSTEM_DATA,
    units: '/etc/systemd/system',
    manual: '/usr/local/share/man',
  }
}

/** The plan of the service of one user. `dataDir` is absolute, or null for the usual place. */
export function planUserService(
  command: readonly string[],
  dataDir: string | null,
  {
    home,
    env,
  }: { readonly home: string; readonly env: Readonly<Record<string, string | undefined>> },
): ServicePlan {
  const folder = (variable: string, usual: string): string => {
    const given = env[variable] ?? ''
    // A relative path in such a variable is invalid (XDG Base Directory Specification).
    return given.startsWith('/') ? given : join(home, usual)
  }
  const shared = folder('XDG_DATA_HOME', '.local/share')
  return {
    kind: 'user',
    command,
    dataDir: dataDir ?? join(shared, 'palisade'),
    units: join(folder('XDG_CONFIG_HOME', '.config'), 'systemd/user'),
    manual: join(shared, 'man'),
  }
}

/** The files of a service: its unit and the pages of the manual. Rejects with Node's errors. */
export async function serviceFiles(plan: ServicePlan): Promise<readonly ServiceFile[]> {
  const shared = { PALISADE_AGENT_SOCKET: SYSTEM_SOCKET, PALISADE_USERS: 'all' }
  const unit = formatUnit(plan.kind, {
    command: plan.command,
    variables: {
      PALISADE_DATA_DIR: plan.dataDir,
      ...(plan.kind === 'system' ? shared : {}),
    },
  })
  const pages = ['palisade.1', 'palisade-agent.8'].map(async (name) => ({
    path: join(plan.manual, `man${name.slice(-1)}`, name),
    text: markText(await readFile(join(manualFolder(), name), 'utf8'), '.\\"'),
  }))
  return [
    { path: join(plan.units, UNIT_NAME), text: markText(unit, '#') },
    ...(await Promise.all(pages)),
  ]
}

/** `agent/man`, from the bundle in `agent/dist` or from a module in a folder of its own. */
function manualFolder(): string {
  const here = import.meta.url
  return fileURLToPath(new URL(here.endsWith('.cjs') ? '../man' : '../../man', here))
}
