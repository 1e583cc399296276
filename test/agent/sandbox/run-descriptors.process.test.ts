import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { endOf, startSandboxMachine } from './fixture/machine.ts'
import { opened } from './staged/opened-project.ts'

/** A server on the machine's loopback, which answers each connection with its name. */
async function listen(name: string): Promise<{ server: Server; port: number }> {
  const server = createServer((socket) => void socket.on('error', () => {}).end(name))
  onTestFinished(() => void server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, port: (server.address() as AddressInfo).port }
}

describe('a socket as standard input of `palisade run`', () => {
  it.each([[[]], [['--strict']]])('leads to no other address, with %j', async (options) => {
    const machine = await startSandboxMachine(opened)
    const given = await listen('given')
    const other = await listen('other')
    const reached: unknown[] = []
    other.server.on('connection', (socket) => reached.push(socket))
    const socket = connect(given.port, '127.0.0.1')
    await once(socket, 'connect')
    // An address of the family AF_UNSPEC takes the connection away.
    const script = `use Socket; print "input: ", <STDIN>, "\\n"; connect(STDIN, pack('S x14', 0));
      print connect(STDIN, sockaddr_in(${other.port}, INADDR_LOOPBACK)) ? "open\\n" : "shut\\n"`
    const child = machine.start([...options, '--', 'perl', '-e', script], undefined, {}, socket)
    const { stdout } = await endOf(child)

    expect({ stdout, reached }).toEqual({ stdout: 'input: given\nshut\n', reached: [] })
  })
})
