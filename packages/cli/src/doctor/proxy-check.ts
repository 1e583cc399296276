import { PROBE_NAMES } from '@palisade/protocol'
import { request } from 'node:http'
import { fail, ok, type Check } from './check.ts'

const TIMEOUT_MS = 10_000

/** Asks the proxy itself for the refused canary. */
export async function checkProxy(proxy: string): Promise<Check> {
  const mend = 'restart the agent; if another program has the port, set PALISADE_PROXY_PORT'
  const { hostname: host, port } = new URL(proxy)
  const { promise, resolve } = Promise.withResolvers<Check>()
  const asked = request({
    host,
    port,
    method: 'CONNECT',
    path: `${PROBE_NAMES.refused}:443`,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  asked.once('error', (error) => resolve(fail('proxy', `${proxy}: ${error.message}`, mend)))
  asked.once('connect', (answer, socket) => {
    socket.destroy()
    const decision = String(answer.headers['palisade-decision'] ?? '')
    const isDenied = answer.statusCode === 403 && decision.startsWith('deny')
    resolve(
      isDenied
        ? ok('proxy', `${proxy} answers and denies`)
        : fail('proxy', `${proxy} answers ${answer.statusCode}, not a denial`, mend),
    )
  })
  asked.end()
  return promise
}
