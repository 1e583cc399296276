import { openConnection, type FleetConnection } from './connection.ts'
import { kindOf, type Timeline } from './timeline.ts'

interface PendingRequest {
  readonly text: string
  readonly signal: AbortSignal | null
  readonly resolve: (response: Response) => void
  readonly reject: (error: Error) => void
}

/**
 * Creates a `fetch` that shares a bounded number of keep-alive connections, with the features that
 * agents use. Node's own fetch is too expensive for 100,000 agents in one process.
 */
export function createPooledFetch(
  connections: number,
  timeline: Pick<Timeline, 'sent' | 'answered'>,
): typeof globalThis.fetch {
  const idle: FleetConnection[] = []
  const waiting: PendingRequest[] = []
  let opened = 0

  async function serve(port: number, pending: PendingRequest): Promise<void> {
    let connection: FleetConnection | null = null
    try {
      connection = idle.pop() ?? null
      if (connection === null) {
        opened += 1
        connection = await openConnection(port)
      }
      const { status, headers, body } = await connection.ask(pending.text)
      timeline.answered(String(status))
      pending.resolve(new Response(status === 304 ? null : body, { status, headers }))
    } catch (error) {
      timeline.answered('none')
      pending.reject(error instanceof Error ? error : new Error(String(error)))
    } finally {
      if (connection?.isOpen() === true) idle.push(connection)
      else opened -= 1
    }
    next(port)
  }

  function next(port: number): void {
    for (let pending = waiting.shift(); pending !== undefined; pending = waiting.shift()) {
      if (pending.signal?.aborted === true) {
        timeline.answered('none')
        pending.reject(new Error('the request was aborted while it waited for a connection'))
        continue
      }
      void serve(port, pending)
      return
    }
  }

  return (input, { method = 'GET', headers, body, signal = null } = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const port = Number(url.port)
    timeline.sent(kindOf(url.pathname))
    return new Promise<Response>((resolve, reject) => {
      // The agents' `connection` header is dropped: 100,000 machines on one address would run out
      // of ports if they closed their connections.
      const { connection: _dropped, ...kept } = headers as Record<string, string>
      const lines = Object.entries(kept)
      const sent = typeof body === 'string' ? body : ''
      const length = method === 'GET' ? [] : [['content-length', String(Buffer.byteLength(sent))]]
      const head = [['host', url.host], ...lines, ...length]
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('')
      const text = `${method} ${url.pathname} HTTP/1.1\r\n${head}\r\n${sent}`
      const pending = { text, signal, resolve, reject }
      while (idle.at(-1)?.isOpen() === false) {
        idle.pop()
        opened -= 1
      }
      if (idle.length > 0 || opened < connections) void serve(port, pending)
      else waiting.push(pending)
    })
  }
}
