import { describe, expect, it } from 'vitest'
import { ALLOWED, startClientScene, type ClientScene } from './client-scene.ts'
import { hasProgram, runClient } from './run-client.ts'

interface Client {
  readonly program: string
  readonly command: (serverName: string, scene: ClientScene) => readonly string[]
  readonly reached: string
  readonly refused: string
}

/** Each opens a tunnel to the allowed name, and chooses the server name itself. */
const CLIENTS: readonly Client[] = [
  {
    program: 'curl',
    command: (serverName, { ports }) => [
      'curl',
      '-sSk',
      `https://${serverName}/`,
      '--connect-to',
      `${serverName}:443:${ALLOWED}:${ports.https}`,
    ],
    reached: 'reached',
    refused: 'alert access denied',
  },
  {
    program: 'openssl',
    command: (serverName, { proxy, ports }) => [
      'openssl',
      's_client',
      '-proxy',
      `127.0.0.1:${proxy.port}`,
      '-connect',
      `${ALLOWED}:${ports.https}`,
      '-servername',
      serverName,
    ],
    reached: 'subject=CN = good.test',
    refused: 'SSL alert number 49',
  },
  {
    program: 'python3',
    command: (serverName, { proxy, ports }) => [
      'python3',
      '-c',
      HANDSHAKE,
      String(proxy.port),
      `${ALLOWED}:${ports.https}`,
      serverName,
    ],
    reached: 'TLSv1',
    refused: 'TLSV1_ALERT_ACCESS_DENIED',
  },
]

const HANDSHAKE = `import socket, ssl, sys
tunnel = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
tunnel.sendall(f'CONNECT {sys.argv[2]} HTTP/1.1\\r\\nHost: {sys.argv[2]}\\r\\n\\r\\n'.encode())
while not tunnel.recv(4096).endswith(b'\\r\\n\\r\\n'): pass
context = ssl._create_unverified_context()
print(context.wrap_socket(tunnel, server_hostname=sys.argv[3]).version())`

describe('TLS of a real program in a tunnel to an allowed name', () => {
  it.for(CLIENTS)('is carried for that name: $program', async (client, { skip }) => {
    skip(!hasProgram(client.program), `${client.program} is not installed`)
    const scene = await startClientScene()

    const run = await runClient(client.command(ALLOWED, scene), scene.env)

    expect(run.output).toContain(client.reached)
    expect(run.code).toBe(0)
  })

  it.for(CLIENTS)('is closed by an alert for another name: $program', async (client, { skip }) => {
    skip(!hasProgram(client.program), `${client.program} is not installed`)
    const scene = await startClientScene()

    const run = await runClient(client.command('foreign.test', scene), scene.env)

    expect(run.output.toLowerCase()).toContain(client.refused.toLowerCase())
    expect(run.output).not.toContain(client.reached)
    expect(run.code).not.toBe(0)
    await expect
      .poll(() => scene.proxy.ends)
      .toMatchObject([{ flow: { cause: 'content', bytesSent: 0 }, decision: { decision: 'deny' } }])
    expect(scene.proxy.resolved).toEqual([ALLOWED])
  })
})
