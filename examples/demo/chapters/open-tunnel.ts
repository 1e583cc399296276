import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { LaunchError } from '../../../packages/launcher/prepare/launch-error.mjs'
import { factRow, type Row } from '../rows/run-row.ts'
import type { World } from '../world/create-world.ts'

/** The agent judges open tunnels again within this time after it has taken a policy. */
const LIMIT_MS = 1_000
const PATIENCE_MS = 10_000

/** A tunnel through the proxy that stays open and idle. */
export interface OpenTunnel {
  /** The row about its end; called once the agent has taken the policy that denies it. */
  readonly closedRow: () => Promise<Row>
  readonly close: () => void
}

export async function openTunnel(world: World, authority: string): Promise<OpenTunnel> {
  const { hostname, port } = new URL(world.proxy())
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`)
  const [head] = await once(socket, 'data')
  if (!String(head).startsWith('HTTP/1.1 200 '))
    throw new LaunchError(`the tunnel to \`${authority}\` was not opened: ${String(head)}`)
  // A reset is an end, too.
  socket.on('error', () => {})
  const closed = new Promise<true>((resolve) => socket.once('close', () => resolve(true)))
  return {
    async closedRow() {
      const startedMs = performance.now()
      const late = setTimeout(PATIENCE_MS, false, { ref: false })
      const isClosed = await Promise.race([closed, late])
      const elapsedMs = Math.round(performance.now() - startedMs)
      const row = { what: 'its open tunnel', program: 'node', target: authority }
      return factRow(
        { ...row, expected: 'closed within 1 s' },
        {
          ok: isClosed && elapsedMs <= LIMIT_MS,
          actual: isClosed ? 'closed' : 'still open',
          said: `${elapsedMs} ms after the fetch`,
        },
      )
    },
    close: () => socket.destroy(),
  }
}
