import { openWire, type Wire } from './wire.ts'
import { kindOf, type Timeline } from './timeline.ts'

interface Asked {
  readonly text: string
  readonly signal: AbortSignal | null
  readonly resolve: (response: Response) => void
  readonly reject: (error: Error) => void
}

/**
 * `fetch` over a bounded number of keep-alive connections that all agents share, as far as agents
 * use it. Node's own costs five times as much, and a hundred thousand agents are in one process.
 */
export function createPooledFetch(
  connections: number,
  timeline: Pick<Timeline, 'sent' | 'answered'>,
): typeof globalThis.fetch {
  const idle: Wire[] = []
  const waiting: Asked[] = []
  let opened = 0

  async function serve(port: number, asked: Asked): Promise<void> {
    let wire: Wire | null = null
    try {
      wire = idle.pop() ?? null
      if (wire === null) {
        opened += 1
        wire = await openWire(port)
      }
      const { status, headers, body } = await wire.ask(asked.text)
      timeline.answered(String(status))
      asked.resolve(new Response(status === 304 ? null : body, { status, headers }))
    } catch (error) {
      timeline.answered('none')
      asked.reject(error instanceof Error ? error : new Error(String(error)))
    } finally {
      if (wire?.isOpen() === true) idle.push(wire)
      else opened -= 1
    }
    next(port)
  }

  function next(port: number): void {
    for (let asked = waiting.shift(); asked !== undefined; asked = waiting.shift()) {
      if (asked.signal?.aborted === true) {
        timeline.answered('none')
        asked.reject(new Error('it has waited for too long'))
        continue
      }
      void serve(port, asked)
      return
    }
  }

  return (input, { method = 'GET', headers, body, signal = null } = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const port = Number(url.port)
    timeline.sent(kindOf(url.pathname))
    return new Promise<Response>((resolve, reject) => {
      // A hundred thousand machines with one address would run out of ports: all stay open here.
      const { connection: _own, ...kept } = headers as Record<string, string>
      const lines = Object.entries(kept)
      const sent = typeof body === 'string' ? body : ''
      const length = method === 'GET' ? [] : [['content-length', String(Buffer.byteLength(sent))]]
      const head = [['host', url.host], ...lines, ...length]
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('')
      const text = `${method} ${url.pathname} HTTP/1.1\r\n${head}\r\n${sent}`
      const asked = { text, signal, resolve, reject }
      while (idle.at(-1)?.isOpen() === false) {
        idle.pop()
        opened -= 1
      }
      if (idle.length > 0 || opened < connections) void serve(port, asked)
      else waiting.push(asked)
    })
  }
}
