import { connect as connectPlain, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { failed, formatInTurns, SEND_TIMEOUT_MS, type Receipt, type Receiver } from './receiver.ts'
import { formatSyslog } from './syslog-message.ts'

export interface SyslogSettings {
  readonly host: string
  readonly port: number
  readonly tls: boolean
  /** Certificates (PEM) of the authorities to trust instead of the usual ones; null for those. */
  readonly ca: string | null
}

/**
 * A receiver of syslog over TCP or TLS. The protocol has no acknowledgement: records count as taken
 * when the system has taken them for an open connection, and so those on their way are lost with a
 * connection that breaks.
 */
export function createSyslogReceiver(settings: SyslogSettings): Receiver {
  let socket: Socket | null = null
  let isClosed = false

  async function connect(): Promise<Socket> {
    if (socket !== null) return socket
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const opened = open(settings, resolve)
    const forget = (): void => {
      if (socket === opened) socket = null
    }
    opened.setNoDelay(true).setKeepAlive(true, 30_000).setTimeout(0)
    opened.on('error', (error) => {
      forget()
      reject(error)
    })
    opened.on('close', () => {
      forget()
      reject(new Error('the connection was closed'))
    })
    // A receiver has nothing to say; one that ends its side is about to close.
    opened.on('end', () => opened.destroy())
    opened.resume()
    socket = opened
    await within(promise, opened)
    return opened
  }

  async function write(text: string): Promise<void> {
    const connected = await connect()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const onClose = (): void => reject(new Error('the connection was closed'))
    connected.once('close', onClose)
    connected.write(text, (error) => (error == null ? resolve() : reject(error)))
    try {
      await within(promise, connected)
    } finally {
      connected.off('close', onClose)
    }
  }

  return {
    acknowledges: false,
    async send(events): Promise<Receipt> {
      const messages = await formatInTurns(events, formatSyslog)
      if (isClosed) return failed('the export ends')
      try {
        await write(messages.join(''))
        return { kind: 'taken', refused: 0 }
      } catch (error) {
        // Half of a message may be on its way: the next one needs a connection of its own.
        socket?.destroy()
        socket = null
        return failed(error instanceof Error ? error.message : String(error))
      }
    },
    close() {
      isClosed = true
      socket?.destroy()
    },
  }
}

function open({ host, port, tls, ca }: SyslogSettings, opened: () => void): Socket {
  if (!tls) return connectPlain({ host, port }, opened)
  return connectTls({ host, port, minVersion: 'TLSv1.2', ...(ca === null ? {} : { ca }) }, opened)
}

/** Destroys the socket after too long, which rejects. */
async function within(work: Promise<void>, socket: Socket): Promise<void> {
  const timer = setTimeout(
    () => socket.destroy(new Error('the receiver took too long')),
    SEND_TIMEOUT_MS,
  )
  try {
    await work
  } finally {
    clearTimeout(timer)
  }
}
