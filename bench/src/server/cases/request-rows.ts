import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { bundleOf, SERVER } from '../../../../packages/launcher/programs.mjs'
import { fillDataDirectory } from '../fill/fill-data-directory.ts'
import type { Load } from '../load/start-load.ts'
import { startProcess, type MeasuredProcess } from '../measured-process.ts'
import {
  bareRequests,
  pollRequests,
  createRuleRequests,
  policyRequests,
  signIn,
} from '../requests.ts'
import { runRounds, type Lane, type RoundOptions, type Row } from '../rounds.ts'

export const BARE = 'bare node:http reply'
export const POLL = 'poll, 304, nothing written'
export const POLL_SEEN = 'poll, 304, last seen recorded'
export const TIMESTAMP = 'poll, 200'
export const POLICY = 'policy GET'
export const CREATE = 'rule create, durable'
export const CREATE_ALONE = 'rule create, one commit each'

const READ_SHAPE = { policies: 4, rulesPerPolicy: 20, editors: 7, devices: 100 } as const
const WRITE_SHAPE = { policies: 100, rulesPerPolicy: 10, editors: 2, devices: 0 } as const
const ORGANIZATIONS = 10
const WRITE_ORGANIZATIONS = 32
const PRIME_TIMEOUT_MS = 30_000

/** The bundle of the released server. */
export const SERVER_MAIN = join(import.meta.dirname, '../../../../', bundleOf(SERVER))
const SINGLE = join(import.meta.dirname, '../single-commit-server.ts')
const BARE_SERVER = join(import.meta.dirname, '../bare-server.ts')

/** Settings of every measured server, in addition to its data directory. */
export const SETTINGS = {
  // Access logs would add the same cost to each request and blur the comparison.
  PALISADE_LOG_LEVEL: 'warn',
  PALISADE_ACCESS_TOKEN_MINUTES: '60',
} as const

export function startServer(
  dataDir: string,
  settings: Readonly<Record<string, string>> = {},
  port?: number,
): Promise<MeasuredProcess> {
  const all = { ...SETTINGS, PALISADE_DATA_DIR: dataDir, ...settings }
  return startProcess([...SERVER.nodeOptions, SERVER_MAIN, 'start'], all, '/readyz', port)
}

/** Starts the server with a store that commits one request at a time. */
function startAlone(dataDir: string): Promise<MeasuredProcess> {
  const settings = { ...SETTINGS, PALISADE_DATA_DIR: dataDir }
  return startProcess([...SERVER.nodeOptions, SINGLE], settings, '/readyz')
}

export function startBare(): Promise<MeasuredProcess> {
  return startProcess([BARE_SERVER], {}, '/')
}

export interface RequestOptions extends RoundOptions {
  /** Requests per round: for reads, including the bare reply, and for writes. */
  readonly reads: number
  readonly writes: number
}

/**
 * Measures every kind of request in turns with the bare reply. Other load on the machine changes
 * within seconds, so each kind runs directly beside the reply that it is compared with.
 */
export async function measureRequests(
  load: Load,
  folder: string,
  options: RequestOptions,
): Promise<Row[]> {
  mkdirSync(folder, { recursive: true })
  const [quiet, seen, alone] = ['quiet', 'seen', 'alone'].map((name) => join(folder, name))
  const readers = await fillDataDirectory(quiet ?? '', 'reads', ORGANIZATIONS, READ_SHAPE)
  cpSync(quiet ?? '', seen ?? '', { recursive: true })
  const writers = await fillDataDirectory(quiet ?? '', 'writes', WRITE_ORGANIZATIONS, WRITE_SHAPE)
  cpSync(quiet ?? '', alone ?? '', { recursive: true })
  const servers = {
    bare: await startBare(),
    quiet: await startServer(quiet ?? '', { PALISADE_LAST_SEEN_SECONDS: '0' }),
    seen: await startServer(seen ?? '', { PALISADE_LAST_SEEN_SECONDS: '1' }),
    alone: await startAlone(alone ?? ''),
  }
  try {
    const define = (set: string, requests: readonly string[]) =>
      load.ask({ kind: 'define', set, requests })
    await define('bare', bareRequests())
    for (const name of ['quiet', 'seen'] as const) {
      await define(`${name} timestamps`, pollRequests(readers))
      await load.ask({
        kind: 'prime',
        port: servers[name].port,
        set: `${name} timestamps`,
        known: `${name} polls`,
        connections: options.connections,
        timeoutMs: PRIME_TIMEOUT_MS,
      })
    }
    await define('policies', policyRequests(await signIn(servers.quiet.port, readers)))
    for (const name of ['quiet', 'alone'] as const)
      await define(`${name} rules`, createRuleRequests(await signIn(servers[name].port, writers)))
    const { reads, writes } = options
    const lane = (
      name: string,
      server: keyof typeof servers,
      set: string,
      [expected, count]: readonly [number, number],
    ): Lane => ({ name, server: servers[server], set, expected, count })
    const bare = lane(BARE, 'bare', 'bare', [200, reads])
    const groups = [
      [lane(POLL, 'quiet', 'quiet polls', [304, reads])],
      [lane(POLL_SEEN, 'seen', 'seen polls', [304, reads])],
      [lane(TIMESTAMP, 'quiet', 'quiet timestamps', [200, reads])],
      [lane(POLICY, 'quiet', 'policies', [200, reads])],
      [
        lane(CREATE, 'quiet', 'quiet rules', [201, writes]),
        lane(CREATE_ALONE, 'alone', 'alone rules', [201, writes]),
      ],
    ]
    const rows: Row[] = []
    for (const group of groups) {
      const [bareRow, ...others] = await runRounds(load, [bare, ...group], options)
      if (rows.length === 0 && bareRow !== undefined) rows.push(bareRow)
      rows.push(...others)
    }
    return rows
  } finally {
    for (const server of Object.values(servers)) await server.stop()
  }
}
