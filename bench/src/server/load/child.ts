import { quantile } from '../../measure/quantile.ts'
import { openConnection, type LoadAnswer, type LoadConnection } from './connection.ts'
import { pace } from './pace.ts'
import { saturate } from './saturate.ts'
import type { LoadReport, LoadRequest } from './load-request.ts'
import { createRequestSet, takeRequest, type RequestSet } from './request-set.ts'

const sets = new Map<string, RequestSet>()
/** Open connections by port, which later runs reuse. */
const opened = new Map<number, readonly LoadConnection[]>()

function define(name: string, texts: readonly string[]): void {
  sets.set(name, createRequestSet(texts))
}

function setOf(name: string): RequestSet {
  const set = sets.get(name)
  if (set === undefined) throw new Error(`no set of requests \`${name}\``)
  return set
}

/** Reuses open connections and opens the missing ones. */
async function connectionsTo(port: number, count: number): Promise<readonly LoadConnection[]> {
  const kept = (opened.get(port) ?? []).filter((connection) => connection.isOpen())
  const missing = Array.from({ length: count - kept.length }, () => openConnection(port))
  const all = [...kept, ...(await Promise.all(missing))]
  opened.set(port, all)
  return all.slice(0, count)
}

/** Keeps `connections` busy while `wantsMore` returns true. Calls `onAnswer` with every answer. */
async function drive(
  { port, connections }: { readonly port: number; readonly connections: number },
  set: RequestSet,
  wantsMore: () => boolean,
  onAnswer: (answer: LoadAnswer, index: number) => void,
): Promise<LoadReport> {
  const busy = await connectionsTo(port, connections)
  const statuses: Record<string, number> = {}
  const tookMs: number[] = []
  const start = performance.now()
  await Promise.all(
    busy.map(async (connection) => {
      while (wantsMore()) {
        const { request, index } = takeRequest(set)
        const asked = performance.now()
        const answer = await connection.ask(request)
        tookMs.push(performance.now() - asked)
        statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
        onAnswer(answer, index)
      }
    }),
  )
  const elapsedMs = performance.now() - start
  const [p50Ms, p99Ms] = [quantile(tookMs, 0.5), quantile(tookMs, 0.99)]
  return { completed: tookMs.length, elapsedMs, statuses, p50Ms, p99Ms }
}

async function prime(request: LoadRequest & { kind: 'prime' }): Promise<LoadReport> {
  const set = setOf(request.set)
  const known = Array.from({ length: set.requests.length }, () => '')
  set.next = 0
  const wantsMore = until(known.length, request.timeoutMs)
  const report = await drive(request, set, wantsMore, ({ head }, index) => {
    const etag = etagOf(head)
    const text = set.requests[index]?.toString('latin1') ?? ''
    known[index] = text.replace('\r\n\r\n', `\r\nif-none-match: ${etag}\r\n\r\n`)
  })
  define(
    request.known,
    known.filter((text) => text !== ''),
  )
  return report
}

async function run(request: LoadRequest & { kind: 'run' }): Promise<LoadReport> {
  const wantsMore = until(request.count, request.timeoutMs)
  const set = setOf(request.set)
  return drive(request, set, wantsMore, (answer, index) => learn(set, answer, index))
}

function until(count: number, timeoutMs: number): () => boolean {
  const deadline = performance.now() + timeoutMs
  let asked = 0
  return () => {
    asked += 1
    return asked <= count && performance.now() < deadline
  }
}

/**
 * Updates the request's entity tag after a 200, as an agent does when a timestamp was signed again.
 */
function learn(set: RequestSet, { status, head }: LoadAnswer, index: number): void {
  if (status !== 200) return
  const request = set.requests[index]
  const at = request?.indexOf('if-none-match: ', 0, 'latin1') ?? -1
  const etag = etagOf(head)
  if (at >= 0) request?.write(etag, at + 'if-none-match: '.length, 'latin1')
}

function etagOf(head: string): string {
  return /\r\netag: *(\S+)/i.exec(head)?.[1] ?? ''
}

/** Handles one request of the parent process. */
async function answer(request: LoadRequest): Promise<LoadReport | null> {
  switch (request.kind) {
    case 'define':
      define(request.set, request.requests)
      return null
    case 'prime':
      return prime(request)
    case 'run':
      return run(request)
    case 'pace':
      return pace(request, setOf(request.set))
    case 'saturate':
      return saturate(request, setOf(request.set))
  }
}

process.on('message', (request: LoadRequest) => {
  answer(request).then(
    (report) => process.send?.({ report }),
    (error: unknown) => process.send?.({ failure: String(error) }),
  )
})
process.on('disconnect', () => process.exit(0))
