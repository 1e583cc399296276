import { setTimeout } from 'node:timers/promises'
import { answerParent } from '../process/ask-child.ts'
import type { LoadAnswer } from './connection.ts'
import { createLane, createTally, type LoadLane } from './lane.ts'
import type { LoadReport, LoadRequest } from './load-request.ts'
import { pace } from './pace.ts'
import { createRequestSet, takeRequest, type RequestSet } from './request-set.ts'

/** Pause before a connection that the server closed is opened again. */
const REOPEN_PAUSE_MS = 5
const PRIME_TIMEOUT_MS = 120_000

const sets = new Map<string, RequestSet>()
/** Lanes by port, which later runs reuse. */
const opened = new Map<number, LoadLane[]>()

function define(name: string, texts: readonly string[]): void {
  sets.set(name, createRequestSet(texts))
}

function setOf(name: string): RequestSet {
  const set = sets.get(name)
  if (set === undefined) throw new Error(`no set of requests \`${name}\``)
  return set
}

function lanesTo(port: number, count: number): readonly LoadLane[] {
  const lanes = opened.get(port) ?? []
  while (lanes.length < count) lanes.push(createLane(port))
  opened.set(port, lanes)
  return lanes.slice(0, count)
}

type Target = Omit<LoadRequest & { kind: 'run' }, 'kind' | 'set'>

/** Keeps all connections busy. Calls `onAnswer` with each answer. */
async function keepBusy(
  { port, connections, count = Infinity, forMs }: Target,
  set: RequestSet,
  onAnswer: (answer: LoadAnswer, index: number) => void,
): Promise<LoadReport> {
  const tally = createTally()
  const deadline = performance.now() + forMs
  let left = count
  await Promise.all(
    lanesTo(port, connections).map(async (lane) => {
      while ((left -= 1) >= 0 && performance.now() < deadline) {
        const { request, index } = takeRequest(set)
        const asked = performance.now()
        const answer = await lane.ask(request)
        tally.count(answer?.status ?? 0, performance.now() - asked)
        if (answer === null) await setTimeout(REOPEN_PAUSE_MS)
        else onAnswer(answer, index)
      }
    }),
  )
  return tally.report()
}

async function prime(request: LoadRequest & { kind: 'prime' }): Promise<LoadReport> {
  const set = setOf(request.set)
  const count = set.requests.length
  const known = Array.from({ length: count }, () => '')
  set.next = 0
  const target = { ...request, count, forMs: PRIME_TIMEOUT_MS }
  const report = await keepBusy(target, set, ({ head }, index) => {
    const text = set.requests[index]?.toString('latin1') ?? ''
    known[index] = text.replace('\r\n\r\n', `\r\nif-none-match: ${etagOf(head)}\r\n\r\n`)
  })
  define(
    request.known,
    known.filter((text) => text !== ''),
  )
  return report
}

/**
 * Updates the request's entity tag after a 200, as an agent does when a timestamp was signed again.
 */
function learn(set: RequestSet, { status, head }: LoadAnswer, index: number): void {
  if (status !== 200) return
  const request = set.requests[index]
  const at = request?.indexOf('if-none-match: ', 0, 'latin1') ?? -1
  if (at >= 0) request?.write(etagOf(head), at + 'if-none-match: '.length, 'latin1')
}

function etagOf(head: string): string {
  return /\r\netag: *(\S+)/i.exec(head)?.[1] ?? ''
}

answerParent(async (request: LoadRequest) => {
  switch (request.kind) {
    case 'define':
      define(request.set, request.requests)
      return null
    case 'prime':
      return prime(request)
    case 'run': {
      const set = setOf(request.set)
      return keepBusy(request, set, (answer, index) => learn(set, answer, index))
    }
    case 'pace':
      return pace(request, setOf(request.set))
  }
})
