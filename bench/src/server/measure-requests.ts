import { cpSync } from 'node:fs'
import { join } from 'node:path'
import type { Rows } from '../figures/table.ts'
import { fillDataDirectory } from '../fill/fill-data-directory.ts'
import type { Filled } from '../fill/fill-organization.ts'
import { withLoad, type Load } from '../load/load.ts'
import {
  createRuleRequests,
  formatRequest,
  policyListRequests,
  policyRequests,
  pollRequests,
  signIn,
  updateRequests,
} from '../load/requests.ts'
import { runRounds, type Lane } from '../load/rounds.ts'
import {
  startBare,
  startServer,
  startSingle,
  withServers,
  type RunningServer,
} from './start-server.ts'

export interface RequestOptions {
  readonly rounds: number
  /** Requests of each lane that are not counted. */
  readonly warmUp: number
  /** Requests per round: for reads, including the bare reply, and for writes. */
  readonly reads: number
  readonly writes: number
}

const POLLED = { policies: 4, rulesPerPolicy: 20, editors: 1, devices: 100 } as const
const UPDATED = { ...POLLED, devices: 0, machines: 100 } as const
const READ = { policies: 4, rulesPerPolicy: 20, editors: 7, devices: 0 } as const
const LISTED = { policies: 98, rulesPerPolicy: 20, editors: 7, devices: 0 } as const
const WRITTEN = { policies: 100, rulesPerPolicy: 10, editors: 2, devices: 0 } as const
const ORGANIZATIONS = 10
/** One that all writers share, and many. */
const WRITE_ORGANIZATIONS = 32

/** Adds the bare reply as the first lane, and runs all in turns. */
export async function besideBare(
  load: Load,
  bare: RunningServer,
  lanes: readonly Lane[],
  { rounds, warmUp, reads }: RequestOptions,
): Promise<Rows> {
  await load.define('bare', [formatRequest('GET', '/', null)])
  const of = { name: 'bare node:http reply', server: bare, set: 'bare', expected: 200 }
  return runRounds(load, [{ ...of, count: reads, warmUp }, ...lanes], rounds)
}

/** Measures polls of a view's timestamp. */
export async function measurePoll(folder: string, options: RequestOptions): Promise<Rows> {
  const [quiet, seen] = [join(folder, 'quiet'), join(folder, 'seen')]
  const polled = await fillDataDirectory(quiet, 'polled', ORGANIZATIONS, POLLED)
  cpSync(quiet, seen, { recursive: true })
  const servers = {
    bare: await startBare(),
    quiet: await startServer(quiet, { PALISADE_LAST_SEEN_SECONDS: '0' }),
    seen: await startServer(seen, { PALISADE_LAST_SEEN_SECONDS: '1' }),
  }
  return withServers(servers, ({ bare, ...ours }) =>
    withLoad(async (load) => {
      await load.define('first', pollRequests(polled))
      await load.prime(ours.quiet.port, 'first', 'quiet')
      await load.prime(ours.seen.port, 'first', 'seen')
      const rest = { count: options.reads, warmUp: options.warmUp }
      const known = { expected: 304, ...rest }
      const lanes = [
        { name: 'poll, 304, nothing written', server: ours.quiet, set: 'quiet', ...known },
        { name: 'poll, 304, last seen recorded', server: ours.seen, set: 'seen', ...known },
        { name: 'poll, 200', server: ours.quiet, set: 'first', expected: 200, ...rest },
      ]
      return besideBare(load, bare, lanes, options)
    }),
  )
}

/**
 * Measures the request of an agent at its start, by `sync` and where news are expected: all missing
 * files in one answer, with a proof of the machine's key. The proofs are made before the rounds.
 */
export async function measureUpdate(folder: string, options: RequestOptions): Promise<Rows> {
  const directory = join(folder, 'updated')
  const filled = await fillDataDirectory(directory, 'updated', ORGANIZATIONS, UPDATED)
  const servers = { bare: await startBare(), ours: await startServer(directory) }
  return withServers(servers, ({ bare, ours }) =>
    withLoad(async (load) => {
      const { writes: count, rounds, warmUp } = options
      const asked = Math.ceil(warmUp / count) + rounds
      await load.define('updates', await updateRequests(ours.port, filled, asked * count))
      const lane = { name: 'update, 304, with proof', server: ours, set: 'updates', expected: 304 }
      return besideBare(load, bare, [{ ...lane, count, warmUp }], options)
    }),
  )
}

/** Measures a policy of 20 rules and a list of 98 policies, each in 70 sessions. */
export async function measureRead(folder: string, options: RequestOptions): Promise<Rows> {
  const directory = join(folder, 'read')
  const single = await fillDataDirectory(directory, 'read', ORGANIZATIONS, READ)
  const listed = await fillDataDirectory(directory, 'listed', ORGANIZATIONS, LISTED)
  const servers = { bare: await startBare(), ours: await startServer(directory) }
  return withServers(servers, ({ bare, ours }) =>
    withLoad(async (load) => {
      await load.define('policies', policyRequests(await signIn(ours.port, single)))
      await load.define('lists', policyListRequests(await signIn(ours.port, listed)))
      const { reads, writes, warmUp } = options
      const of = { server: ours, expected: 200, warmUp }
      const lanes = [
        { ...of, name: 'policy GET', set: 'policies', count: reads },
        { ...of, name: 'policy list of 98', set: 'lists', count: writes },
      ]
      return besideBare(load, bare, lanes, options)
    }),
  )
}

/** Measures durable creation of rules, beside a server that commits one request at a time. */
export async function measureCreate(folder: string, options: RequestOptions): Promise<Rows> {
  const [together, single] = [join(folder, 'together'), join(folder, 'single')]
  const one = await fillDataDirectory(together, 'writers', 1, WRITTEN)
  const many = await fillDataDirectory(together, 'writes', WRITE_ORGANIZATIONS, WRITTEN)
  cpSync(together, single, { recursive: true })
  const servers = {
    bare: await startBare(),
    together: await startServer(together),
    single: await startSingle(single),
  }
  return withServers(servers, ({ bare, ...ours }) =>
    withLoad(async (load) => {
      const define = async (set: string, server: RunningServer, filled: readonly Filled[]) =>
        load.define(set, createRuleRequests(await signIn(server.port, filled)))
      await define('one', ours.together, one)
      await define('many', ours.together, many)
      await define('single', ours.single, many)
      const { writes, warmUp } = options
      const of = { expected: 201, count: writes, warmUp: warmUp / 3 }
      // A policy may have 250 rules.
      const few = { connections: 32, count: writes / 2, warmUp: warmUp / 6 }
      const rival = { name: 'rule create, one commit each', column: 'x one commit each' }
      const lanes = [
        { ...of, name: 'rule create, durable', server: ours.together, set: 'many', rival },
        { ...of, name: rival.name, server: ours.single, set: 'single' },
        {
          ...of,
          ...few,
          name: 'rule create, 32 writers of one',
          server: ours.together,
          set: 'one',
        },
      ]
      return besideBare(load, bare, lanes, options)
    }),
  )
}
