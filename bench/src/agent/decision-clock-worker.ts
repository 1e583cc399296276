import { Agent, request } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'
import type { ClockTask } from './decision-clock.ts'

const PERIOD_MS = 5

const { socketPath, body } = workerData as ClockTask
/**
 * In a crowd the agent ends connections that ask for nothing yet; what waits here counts all the same. It ends
 * idle ones too, so these are given up before.
 */
const agent = new Agent({ keepAlive: true, maxSockets: 100, timeout: 1_000 })
const headers = { 'content-length': Buffer.byteLength(body) }

let asked: Promise<number>[] = []
setInterval(() => asked.push(askOnce()), PERIOD_MS)
parentPort?.on('message', () => void answer())

async function answer(): Promise<void> {
  const all = asked
  asked = []
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- of windows, not of threads
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
