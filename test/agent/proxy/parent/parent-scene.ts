import type { Socket } from 'node:net'
import { bundleOf } from '../../fixture/bundle.ts'
import { startProxy, startTcpServer, type ProxyScene } from '../../fixture/proxy.ts'

/** A proxy whose parent reads a request, then does as `onRequest` says. */
export async function startWith(
  onRequest: (socket: Socket, attempt: number) => void,
  parentTimeoutMs?: number,
): Promise<ProxyScene & { readonly parentPort: number }> {
  let attempt = 0
  const parentPort = await startTcpServer((socket) => {
    socket.once('data', () => onRequest(socket, attempt++))
  })
  const scene = await startProxy(
    bundleOf(['allow', 'connect:tcp', '*.a.test']),
    { 'x.a.test': ['10.0.0.7'] },
    100,
    {
      parent: { host: '127.0.0.1', port: parentPort },
      ...(parentTimeoutMs === undefined ? {} : { parentTimeoutMs }),
    },
  )
  return { ...scene, parentPort }
}
