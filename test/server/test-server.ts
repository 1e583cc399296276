import { readConfig } from '@palisade/server'
import {
  createParts,
  createServer,
  OVERLOAD,
  START_PROCESS,
  START_WORKER,
  type Server,
  type ServerOptions,
} from '../../server/src/container.ts'
import type { LightMyRequestResponse } from 'fastify'
import { randomBytes, randomUUID } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { createAuditedStore } from '../../server/src/history/audit/audited-store.ts'
import type { LogSettings } from '../../server/src/operations/log/create-log.ts'
import { UNLIMITED, type Overload } from '../../server/src/operations/overload/overload.ts'
import type { EvidenceStore } from '../../server/src/evidence/store/evidence-store.ts'
import type { StartWorker } from '../../server/src/platform/start-worker.ts'
import type { Store } from '../../server/src/store/store.ts'
import { openTestEvidence, openTestStore } from './store/test-store.ts'
import { startInProcess } from './in-process-worker.ts'
import { headersOf, type TestDevice } from './test-device.ts'
import { temporaryDirectory, type AtEnd } from './temporary-directory.ts'
import { createOwnedOrganization, type OwnedOrganization } from './test-organization.ts'

/** The whole server as composed by its container, on a real store with a fake clock. */
export interface TestServer {
  readonly server: Server
  readonly store: Store
  readonly evidence: EvidenceStore
  /** Advances the clock by milliseconds. */
  advance(ms: number): void
  /** Sets the wall clock back; the monotonic clock continues. */
  setBack(ms: number): void
  /** Epoch milliseconds of the server's clock. */
  now(): number
  /** Creates an organization with a new or an existing owner, who gets a personal token. */
  createOrganization(name: string, owner: string, entitled?: boolean): Promise<OwnedOrganization>
  /** Sends a request; `as` is an access token or a machine, `payload` becomes JSON. */
  send(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    url: string,
    options?: { as?: string | TestDevice; payload?: object; headers?: Record<string, string> },
  ): Promise<LightMyRequestResponse>
  exchange(username: string, password: string, address?: string): Promise<LightMyRequestResponse>
  /** Exchanges a valid secret for an access token. */
  signIn(username: string, password: string): Promise<string>
}

export interface TestServerOptions {
  /** Settings by name, `PALISADE_*`. */
  readonly settings?: Readonly<Record<string, string>>
  readonly log?: LogSettings
  /** Instead of the directory of its databases. */
  readonly dataDir?: string
  /** Default: no overload, because the load of the machine must not affect a test. */
  readonly overload?: Overload
  /** Default: the code of threads runs in this one. */
  readonly startWorker?: StartWorker
}

/** Calls `createServer` with a fixed overload, and without threads by default. */
export function createServerUnder(
  overload: Overload,
  options: ServerOptions,
  startWorker: StartWorker = startInProcess,
): Promise<Server> {
  const parts = createParts(options)
  parts.register(OVERLOAD, { useValue: { overload, stop: () => undefined } })
  parts.register(START_WORKER, { useValue: startWorker })
  parts.register(START_PROCESS, { useValue: startWorker })
  return createServer(options, parts)
}

function authorize(as: string | TestDevice | undefined, method: string, url: string) {
  if (as === undefined) return {}
  return typeof as === 'string' ? { authorization: `Bearer ${as}` } : headersOf(as, method, url)
}

export async function openTestServer(
  atEnd: AtEnd = onTestFinished,
  { settings = {}, log, dataDir, overload = UNLIMITED, startWorker }: TestServerOptions = {},
): Promise<TestServer> {
  let clockMs = Date.parse('2026-11-21T08:00:00.250Z')
  let monotonicMs = 1_000
  const sources = {
    now: () => new Date(clockMs),
    monotonicMs: () => monotonicMs,
    random: (bytes: number) => randomBytes(bytes),
    newId: () => randomUUID(),
  }
  const directory = dataDir ?? temporaryDirectory(atEnd)
  const { store, databaseUrl, discard } = await openTestStore(directory)
  // Where the evidence is, for the threads that read it.
  const config = { ...readConfig(settings, directory), dataDir: directory, databaseUrl }
  const evidence = await openTestEvidence(directory, databaseUrl)
  const options = { config, sources, store, evidence, logger: log ?? (false as const) }
  const server = await createServerUnder(overload, options, startWorker)
  atEnd(async () => {
    // `fetch` connects again after an abort, and a connection without a request lasts a minute.
    server.app.server.on('connection', (socket) => socket.destroy()).closeAllConnections()
    await server.close()
    await evidence.close()
    await discard()
  })

  const exchange = (username: string, password: string, address = '127.0.0.1') =>
    server.app.inject({
      method: 'POST',
      url: '/v2/auth/token',
      remoteAddress: address,
      payload: { username, password },
    })

  return {
    server,
    store,
    evidence,
    advance(ms) {
      clockMs += ms
      monotonicMs += ms
    },
    setBack(ms) {
      clockMs -= ms
    },
    now: () => clockMs,
    createOrganization: (name, owner, entitled = true) =>
      createOwnedOrganization(
        { store: createAuditedStore({ store, ...sources }), ...sources },
        { name, owner, entitled },
      ),
    send: (method, url, { as, payload, headers } = {}) =>
      server.app.inject({
        method,
        url,
        headers: { ...authorize(as, method, url), ...headers },
        ...(payload === undefined ? {} : { payload }),
      }),
    exchange,
    async signIn(username, password) {
      const response = await exchange(username, password)
      if (response.statusCode !== 200) throw new Error(`sign-in failed: ${response.body}`)
      return response.json<{ access_token: string }>().access_token
    },
  }
}
