import { connect, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'

/**
 * Arguments: kind, port of the proxy or `none`, HOST:PORT of the target, count, number at once, and
 * how many a second, 0 for as many as possible. Prints the milliseconds that it took. This file
 * imports no other, because a sandbox gets a copy.
 */
const [, , kind, proxyPort, target = '', countText, parallelText, perSecondText] = process.argv
const count = Number(countText)
const parallel = Number(parallelText)
const perSecond = Number(perSecondText ?? 0)
/** Begins no other protocol, so that a proxy that looks at it passes it on at once. */
const REQUEST = Buffer.alloc(200, 1)
const ABSOLUTE = Buffer.from(`GET http://${target}/ HTTP/1.1\r\nHost: ${target}\r\n\r\n`)

function openSocket(host: string, port: number): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const socket = connect({ host, port, noDelay: true }, () => resolve(socket))
  socket.on('error', reject)
  return promise
}

/** Resolves with the received text once `isWhole` accepts it. */
function receive(socket: Socket, isWhole: (text: string) => boolean): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let text = ''
  const fail = (): void => reject(new Error(`the connection closed after \`${text}\``))
  const take = (chunk: Buffer): void => {
    text += chunk.toString('latin1')
    if (!isWhole(text)) return
    socket.off('data', take).off('close', fail)
    resolve(text)
  }
  socket.on('data', take).on('close', fail)
  return promise
}

function openDirectly(): Promise<Socket> {
  const [host = '', port] = target.split(':')
  return openSocket(host, Number(port))
}

/** Opens a tunnel; resolves once the proxy has granted it. */
async function openTunnel(): Promise<Socket> {
  const socket = await openSocket('127.0.0.1', Number(proxyPort))
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`)
  const head = await receive(socket, (text) => text.includes('\r\n\r\n'))
  if (!/^HTTP\/1\.[01] 200 /.test(head)) throw new Error(head)
  return socket
}

const open = proxyPort === 'none' ? openDirectly : openTunnel

/** One exchange of `REQUEST` for its echo. */
async function exchange(socket: Socket): Promise<void> {
  socket.write(REQUEST)
  await receive(socket, (text) => text.length >= REQUEST.length)
}

/** One request in absolute form. Returns whether the connection stays open. */
async function ask(socket: Socket): Promise<boolean> {
  socket.write(ABSOLUTE)
  const answer = await receive(socket, (text) => {
    const end = text.indexOf('\r\n\r\n')
    return end >= 0 && text.length >= end + 4 + 200
  })
  if (!/^HTTP\/1\.[01] 200 /.test(answer)) throw new Error(answer)
  return answer.startsWith('HTTP/1.1') && !/\r\nconnection: close/i.test(answer)
}

function close(socket: Socket): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  socket.once('close', () => resolve()).resume()
  socket.end()
  return promise
}

const startedMs = performance.now()
let taken = 0

/** Waits for the moment of the next piece of work. Returns false after the last one. */
async function next(): Promise<boolean> {
  if (taken >= count) return false
  taken += 1
  const waitMs = perSecond === 0 ? 0 : (taken * 1000) / perSecond - performance.now() + startedMs
  if (waitMs > 0) await setTimeout(waitMs)
  return true
}

async function inParallel(work: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: parallel }, work))
}

const kinds: Readonly<Record<string, () => Promise<void>>> = {
  /** Each exchange in a tunnel of its own. */
  new: () =>
    inParallel(async () => {
      while (await next()) {
        const socket = await open()
        await exchange(socket)
        await close(socket)
      }
    }),
  kept: () =>
    inParallel(async () => {
      const socket = await open()
      while (await next()) await exchange(socket)
      await close(socket)
    }),
  absolute: () =>
    inParallel(async () => {
      let socket = await openSocket('127.0.0.1', Number(proxyPort))
      while (await next()) {
        if (await ask(socket)) continue
        socket.destroy()
        socket = await openSocket('127.0.0.1', Number(proxyPort))
      }
      socket.destroy()
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
      while (await next()) sockets.push(await open())
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
await kinds[kind ?? '']?.()
if (kind !== 'hold') process.stdout.write(`${performance.now() - startedMs}\n`)
