import { createServer as createListener } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { CommandFailure } from './platform/command-failure.ts'
import { ConfigError } from './platform/config-error.ts'
import type { Config } from './config/config.ts'
import { createServer, type Server } from './container.ts'
import { createLogDestination } from './operations/log/create-log.ts'
import { openLastingEvidence, type LastingEvidence } from './evidence/store/lasting-evidence.ts'
import { openEvidenceStore } from './evidence/store/open-evidence-store.ts'
import { DATABASE_FILE } from './operations/storage/data-directory.ts'
import { openStore } from './operations/storage/open-store.ts'
import type { Sources } from './platform/sources.ts'
import { warnAtStart } from './config/start-warnings.ts'
import { createBallast } from './store/sqlite/ballast.ts'
import type { Store } from './store/store.ts'
import {
  CertificateError,
  loadCertificate,
  type Certificate,
  type CertificateFiles,
} from './operations/tls/certificate.ts'
import {
  warnOfExpiry,
  watchCertificate,
  type CertificateWatch,
} from './operations/tls/watch-certificate.ts'

/** Longest wait for running requests at shutdown. */
const STOP_WITHIN_MS = 10_000
const STANDARD_OUTPUT = 1

/**
 * Serves until `stop` resolves, and for the delay in which load balancers notice it; then finishes
 * running requests and closes the store. Throws ConfigError when a setting has to change, and
 * CommandFailure or StoreError when another start may succeed. A failed start does not create
 * files.
 */
export async function startServer(
  config: Config,
  sources: Sources,
  stop: Promise<string>,
): Promise<void> {
  // Before the store is opened: a port in use must not leave a new database behind.
  const certificate = await requireUsable(config, sources)
  const store = await openStore(config, 'create')
  if (config.databaseUrl === null) createBallast(join(config.dataDir, DATABASE_FILE)).make()
  try {
    const evidence = await openLastingEvidence(() => openEvidenceStore(config), sources.monotonicMs)
    try {
      const logger = { level: config.logLevel, stream: createLogDestination(STANDARD_OUTPUT) }
      const options = { config, sources, store, evidence, logger, certificate }
      const server = await createServer(options)
      const renewal = followCertificate(config, sources, server, certificate)
      await serve({ config, server, store, evidence }, stop)
      renewal?.stop()
    } finally {
      await evidence.close()
    }
  } finally {
    await store.close()
  }
}

/** Checks the certificate, then the address. Throws ConfigError or CommandFailure. */
async function requireUsable(config: Config, sources: Sources): Promise<Certificate | undefined> {
  const certificate = config.tls === null ? undefined : readCertificate(config.tls, sources)
  await requireFreeAddress(config)
  return certificate
}

function readCertificate(files: CertificateFiles, sources: Sources): Certificate {
  try {
    return loadCertificate(files, sources.now())
  } catch (error) {
    throw error instanceof CertificateError
      ? new ConfigError(error.problems, { cause: error })
      : error
  }
}

/** Loads a renewed certificate when its file changes, and at SIGHUP. */
function followCertificate(
  config: Config,
  sources: Sources,
  server: Server,
  certificate: Certificate | undefined,
): CertificateWatch | null {
  if (config.tls === null || certificate === undefined) return null
  warnOfExpiry(server.log, certificate, sources.now())
  const watch = watchCertificate(config.tls, {
    log: server.log,
    now: sources.now,
    use: (renewed) => server.replaceCertificate(renewed),
  })
  process.on('SIGHUP', watch.reload)
  return watch
}

interface Serving {
  readonly config: Config
  readonly server: Server
  readonly store: Store
  readonly evidence: Pick<LastingEvidence, 'fault'>
}

async function serve(
  { config, server, store, evidence }: Serving,
  stop: Promise<string>,
): Promise<void> {
  try {
    await server.app.listen({ host: config.host, port: config.port })
  } catch (error) {
    await server.close()
    throw toStartError(config, error)
  }
  const url = server.origin()
  server.log.info({ url }, `palisade-server listening on ${url}`)
  await warnAtStart(server.log, config, server.address(), store)
  const err = evidence.fault()
  if (err !== null)
    server.log.error({ err }, 'decision records are refused, because the evidence cannot be opened')
  const signal = await stop
  server.announceStop()
  server.log.info({ signal, delay_ms: config.stopDelayMs }, 'palisade-server stopping')
  await pause(config.stopDelayMs)
  await closeInTime(server)
}

async function closeInTime(server: Server): Promise<void> {
  const timer = setTimeout(() => {
    server.log.warn('closing connections with running requests')
    server.app.server.closeAllConnections()
  }, STOP_WITHIN_MS)
  await server.close()
  clearTimeout(timer)
}

async function requireFreeAddress(config: Config): Promise<void> {
  const listener = createListener()
  try {
    await new Promise<void>((resolve, reject) => {
      listener.once('error', reject)
      listener.listen({ host: config.host, port: config.port }, resolve)
    })
  } catch (error) {
    throw toStartError(config, error)
  }
  await new Promise((resolve) => listener.close(resolve))
}

/** Returns ConfigError only for a setting that can never work: systemd does not restart then. */
function toStartError({ host, port }: Config, cause: unknown): unknown {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  switch (code) {
    case 'EADDRINUSE':
      return new CommandFailure(
        'refused',
        `port ${port} of \`${host}\` is in use; set \`PALISADE_PORT\` to another, or to 0 for any`,
      )
    case 'EADDRNOTAVAIL':
    case 'EAI_AGAIN':
      return new CommandFailure('refused', notOfThisMachine(host))
    case 'EINVAL':
    case 'ENOTFOUND':
      return new ConfigError([notOfThisMachine(host)], { cause })
    case 'EACCES':
      return new ConfigError(
        [`port ${port} may not be used (EACCES); set \`PALISADE_PORT\` to 1024 or above`],
        { cause },
      )
    default:
      return cause
  }
}

function notOfThisMachine(host: string): string {
  return `\`${host}\` is not an address of this machine; set \`PALISADE_HOST\` to one that is`
}
