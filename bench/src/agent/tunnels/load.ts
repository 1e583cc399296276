import { connect, type Socket } from 'node:net'

/** Arguments: kind, port of the proxy or `none`, HOST:PORT of the target, count, number at once. */
const [, , kind, proxyPort, target = '', countText, parallelText] = process.argv
const count = Number(countText)
const parallel = Number(parallelText)
/** Begins no other protocol, so that a proxy that looks at it passes it on at once. */
const REQUEST = Buffer.alloc(200, 1)

/** Connects without a proxy, which a sandbox captures. */
function openDirectly(): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const [host = '', port] = target.split(':')
  const socket = connect({ host, port: Number(port), noDelay: true }, () => resolve(socket))
  socket.on('error', reject)
  return promise
}

/** Opens a tunnel; resolves once the proxy has granted it. */
function openTunnel(): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const socket = connect({ port: Number(proxyPort), host: '127.0.0.1', noDelay: true })
  let head = ''
  const take = (chunk: Buffer): void => {
    head += chunk.toString('latin1')
    if (!head.includes('\r\n\r\n')) return
    socket.off('data', take)
    if (/^HTTP\/1\.[01] 200 /.test(head)) resolve(socket)
    else reject(new Error(head))
  }
  socket.on('data', take).on('error', reject)
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`)
  return promise
}

const open = proxyPort === 'none' ? openDirectly : openTunnel

/** One exchange of `REQUEST` for its echo. */
function exchange(socket: Socket): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let received = 0
  const take = (chunk: Buffer): void => {
    received += chunk.length
    if (received < REQUEST.length) return
    socket.off('data', take)
    resolve()
  }
  socket.on('data', take)
  socket.write(REQUEST)
  return promise
}

function close(socket: Socket): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  socket.once('close', () => resolve()).resume()
  socket.end()
  return promise
}

async function inParallel(work: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: parallel }, work))
}

let left = count
const kinds: Readonly<Record<string, () => Promise<void>>> = {
  /** Each exchange in a tunnel of its own. */
  new: () =>
    inParallel(async () => {
      while ((left -= 1) >= 0) {
        const socket = await open()
        await exchange(socket)
        await close(socket)
      }
    }),
  kept: () =>
    inParallel(async () => {
      const socket = await open()
      while ((left -= 1) >= 0) await exchange(socket)
      await close(socket)
    }),
  /** `count` bytes through one tunnel. */
  bulk: async () => {
    const socket = await open()
    socket.write(`S${String(count).padStart(8, '0')}`)
    let received = 0
    for await (const chunk of socket as AsyncIterable<Buffer>) received += chunk.length
    if (received !== count) throw new Error(`${received} of ${count} bytes`)
  },
  /** Holds `count` tunnels until standard input ends; counts those that are closed. */
  hold: async () => {
    const sockets: Socket[] = []
    await inParallel(async () => {
      while ((left -= 1) >= 0) sockets.push(await open())
    })
    let closed = 0
    let lastMs = 0
    for (const socket of sockets)
      socket.resume().once('close', () => {
        closed += 1
        lastMs = Date.now()
      })
    process.stdout.write('held\n')
    for await (const _ of process.stdin);
    process.stdout.write(`${JSON.stringify({ closed, last_closed_at: lastMs })}\n`)
    for (const socket of sockets) socket.destroy()
  },
}
const startedMs = performance.now()
await kinds[kind ?? '']?.()
if (kind !== 'hold') process.stdout.write(`${performance.now() - startedMs}\n`)
