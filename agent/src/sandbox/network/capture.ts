import type { Server, Socket } from 'node:net'
import { formatRawAnswer } from '../../proxy/denial/answer.ts'
import { explainOpening, explainTooMany } from '../../proxy/denial/explain-opening.ts'
import type { FindNearMisses } from '../../proxy/denial/near-misses.ts'
import { readClientBytes } from '../../proxy/client-bytes.ts'
import type { ProgramServer } from '../../proxy/program-server.ts'
import type { Target } from '../../proxy/target/authority.ts'
import { hangUp } from '../../http/hang-up.ts'
import {
  openTunnel,
  type TunnelRefusal,
  type TunnelRequest,
} from '../../proxy/tunnel/open-tunnel.ts'
import type { TcpEndpoint } from '../../host/process-lookup/tcp-table.ts'
import type { NameTable } from './dns/name-table.ts'
import type { FindDestination } from './original-destination.ts'

/** The port on which a program that is refused can read the reason. */
const HTTP_PORT = 80
/** Time for a program to begin its request. */
const REQUEST_TIMEOUT_MS = 2_000

export interface CaptureDeps {
  readonly programs: Pick<ProgramServer, 'admit'>
  readonly names: NameTable
  readonly findDestination: FindDestination
  /** Called before the connection is served, so that its program can be found. */
  readonly noteDestination: (client: Socket, destination: TcpEndpoint) => void
  readonly nearMisses: FindNearMisses
}

/**
 * Serves connections of programs that do not use the proxy, and that the kernel redirected to
 * `listener`. A synthetic address stands for its name, which is then decided, resolved and held to
 * its content exactly as for CONNECT. Any other address is a target of its own.
 */
export function serveCapture(deps: CaptureDeps, listener: Server): void {
  listener.on('connection', (client: Socket) => {
    client.setNoDelay(true)
    // A program may end its side and still wait for the answer.
    client.allowHalfOpen = true
    const destination = deps.findDestination(client)
    if (destination === null) {
      client.resetAndDestroy()
      return
    }
    deps.noteDestination(client, destination)
    const { address, port } = destination
    const name = deps.names.nameAt(address)
    if (name !== null) client.once('close', deps.names.hold(name))
    const request = createRequest(deps, client, { host: name ?? address, port })
    deps.programs.admit(client, (ready) => openTunnel(ready, request))
  })
}

function createRequest(
  deps: Pick<CaptureDeps, 'nearMisses'>,
  client: Socket,
  target: Target,
): TunnelRequest {
  return {
    point: 'capture',
    protocol: 'tcp',
    client,
    target,
    // Programs take the connection itself for the answer.
    grant: () => {},
    refuse(refusal) {
      if (target.port === HTTP_PORT) void explain(deps, client, target, refusal)
      else client.resetAndDestroy()
    },
  }
}

/** Answers a request over plain HTTP; resets any other connection. */
async function explain(
  deps: Pick<CaptureDeps, 'nearMisses'>,
  client: Socket,
  target: Target,
  refusal: TunnelRefusal,
): Promise<void> {
  const bytes = readClientBytes(client, REQUEST_TIMEOUT_MS)
  const start = await bytes.peek(1)
  bytes.release()
  if (!/^[A-Z]/.test(start.toString('latin1'))) client.resetAndDestroy()
  else if (refusal.kind === 'too_many') hangUp(client, formatRawAnswer(explainTooMany()))
  else hangUp(client, formatRawAnswer(explainOpening(deps, refusal, target, {})))
}
