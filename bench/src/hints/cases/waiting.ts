import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createProver } from '../../../../packages/client/src/device/proof.ts'
import { startServer } from '../../server/cases/request-rows.ts'
import { fillFleet, type Fleet, type FleetMachine } from '../fill-fleet.ts'

const PATH = '/api/v1/device/hint'
const OPENED_TOGETHER = 100
/** Time for garbage of the connection set-up to be collected. */
const SETTLE_MS = 20_000

export interface WaitingResult {
  readonly machines: number
  /** Resident bytes of the server before the machines connect, and a while after all wait. */
  readonly rss_before: number
  readonly rss: number
  /** Bytes per waiting machine. */
  readonly each: number
  /**
   * Share of a core while nothing changes: every machine gets an empty answer every 50 seconds and
   * asks again.
   */
  readonly share: number
}

/** Measures what `count` waiting machines cost the server. */
export async function measureWaiting(folder: string, count: number): Promise<WaitingResult> {
  const directory = join(folder, `waiting-${count}`)
  const fleet = await fillFleet(directory, count)
  // All machines connect at once here; their connection set-up is not measured.
  const server = await startServer(directory, { PALISADE_OVERLOAD_DELAY_MS: '0' })
  const sockets: Socket[] = []
  try {
    const rss_before = server.rss().now
    const revision = await readRevision(fleet, server.port)
    for (let first = 0; first < count; first += OPENED_TOGETHER) {
      const some = fleet.machines.slice(first, first + OPENED_TOGETHER)
      sockets.push(
        ...(await Promise.all(some.map((each) => openHint(each, server.port, revision)))),
      )
    }
    await untilWaiting(server.port, count)
    const [cpuUs, startedMs] = [server.cpuUs(), performance.now()]
    await pause(SETTLE_MS)
    const share = (server.cpuUs() - cpuUs) / 1000 / (performance.now() - startedMs)
    const rss = server.rss().now
    const waiting = await countWaiting(server.port)
    // Some machines are between two requests.
    if (waiting < count * 0.95) throw new Error(`only ${waiting} of ${count} wait`)
    return { machines: count, rss_before, rss, each: (rss - rss_before) / count, share }
  } finally {
    for (const socket of sockets) socket.destroy()
    await server.stop()
  }
}

async function openHint(machine: FleetMachine, port: number, since: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port })
  socket.on('error', () => {})
  await once(socket, 'connect')
  const { authorization, prove } = await signIn(machine, port)
  const ask = (): void => {
    socket.write(
      `GET ${PATH}?since=${since} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n` +
        `Accept: application/json\r\nAuthorization: ${authorization}\r\nDPoP: ${prove()}\r\n\r\n`,
    )
  }
  // Asks again after an empty answer, as an agent does.
  socket.on('data', ask)
  ask()
  return socket
}

async function signIn({ key }: FleetMachine, port: number) {
  const origin = `http://127.0.0.1:${port}`
  const prove = createProver(key, Date.now)
  const tokenUrl = `${origin}/api/v1/device/token`
  const dpop = prove({ method: 'POST', url: tokenUrl })
  const answer = await fetch(tokenUrl, { method: 'POST', headers: { dpop } })
  if (!answer.ok) throw new Error(`no device token: ${answer.status}`)
  const { access_token: accessToken } = (await answer.json()) as { access_token: string }
  return {
    authorization: `DPoP ${accessToken}`,
    prove: () => prove({ method: 'GET', url: origin + PATH, accessToken }),
  }
}

async function readRevision({ machines }: Fleet, port: number): Promise<number> {
  const [machine] = machines
  if (machine === undefined) throw new Error('the fleet has no machine')
  const { authorization, prove } = await signIn(machine, port)
  const headers = { authorization, dpop: prove() }
  const answer = await fetch(`http://127.0.0.1:${port}${PATH}`, { headers })
  return ((await answer.json()) as { revision: number }).revision
}

async function untilWaiting(port: number, count: number): Promise<void> {
  while ((await countWaiting(port)) < count * 0.99) await pause(100)
}

async function countWaiting(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return Number(/^palisade_queue_length\{queue="hints"\} (\d+)$/m.exec(text)?.[1] ?? 0)
}
