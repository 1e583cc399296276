import { Agent, request } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'
import type { ClockTask } from './decision-clock.ts'

const PERIOD_MS = 5

const { socketPath, body } = workerData as ClockTask
/**
 * The agent closes connections without a request when it has too many, so the pool is limited. A
 * request that waits for a connection still counts from its start. The agent also closes idle
 * connections, so this pool closes them earlier.
 */
const agent = new Agent({ keepAlive: true, maxSockets: 100, timeout: 1_000 })
const headers = { 'content-length': Buffer.byteLength(body) }

let asked: Promise<number>[] = []
setInterval(() => asked.push(askOnce()), PERIOD_MS)
parentPort?.on('message', () => void answer())

async function answer(): Promise<void> {
  const all = asked
  asked = []
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- thread, no window
  parentPort?.postMessage(await Promise.all(all))
}

function askOnce(): Promise<number> {
  const startedMs = performance.now()
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, path: '/v1/decide', method: 'POST', headers, agent })
    sent.once('error', reject)
    sent.once('response', (response) => {
      response.resume()
      response.once('end', () => {
        if (response.statusCode === 200) resolve(performance.now() - startedMs)
        else reject(new Error(`a decision was answered ${response.statusCode}`))
      })
    })
    sent.end(body)
  })
}
