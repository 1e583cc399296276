import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTcp, type AddressInfo, type Server, type Socket } from 'node:net'
import { createServer as createTls } from 'node:tls'
import { gunzipSync } from 'node:zlib'
import { onTestFinished } from 'vitest'

type Answer = (
  response: ServerResponse,
  call: { readonly ids: readonly string[]; readonly request: IncomingMessage },
) => void

export interface Collector {
  readonly url: string
  /** The ids of the records of each call. */
  readonly calls: string[][]
  answer: Answer
}

const TAKEN: Answer = (response) => void response.end('{}')

/** An OpenTelemetry collector on loopback, as far as the exporter sees it. */
export async function startCollector(): Promise<Collector> {
  const calls: string[][] = []
  const server = createHttp((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const ids = idsOf(JSON.parse(gunzipSync(Buffer.concat(chunks)).toString()))
      calls.push(ids)
      collector.answer(response, { ids, request })
    })
  })
  const collector: Collector = {
    url: `http://127.0.0.1:${await listen(server)}/v1/logs`,
    calls,
    answer: TAKEN,
  }
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return collector
}

interface Logs {
  readonly resourceLogs: readonly {
    readonly scopeLogs: readonly {
      readonly logRecords: readonly {
        readonly attributes: readonly {
          readonly key: string
          readonly value: { readonly stringValue: string }
        }[]
      }[]
    }[]
  }[]
}

function idsOf(logs: Logs): string[] {
  return logs.resourceLogs
    .flatMap(({ scopeLogs }) => scopeLogs)
    .flatMap(({ logRecords }) => logRecords)
    .map(
      ({ attributes }) =>
        attributes.find(({ key }) => key === 'palisade.audit_event_id')?.value.stringValue ?? '',
    )
}

export interface SyslogServer {
  readonly port: number
  readonly messages: string[]
  readonly sockets: Socket[]
  close(): void
}

/** A receiver of syslog with octet counting. */
export async function startSyslog(
  options: {
    readonly tls?: { readonly key: string; readonly cert: string }
    readonly port?: number
    /** Reads no connection. */
    readonly isDeaf?: boolean
  } = {},
): Promise<SyslogServer> {
  const messages: string[] = []
  const sockets: Socket[] = []
  const take = (socket: Socket): void => {
    sockets.push(socket)
    let text = ''
    socket.on('error', () => undefined)
    if (options.isDeaf === true) return
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      for (;;) {
        const length = /^(\d+) /.exec(text)
        if (length === null) return
        const from = length[0].length
        const until = from + Number(length[1])
        if (text.length < until) return
        messages.push(text.slice(from, until))
        text = text.slice(until)
      }
    })
  }
  const server = options.tls === undefined ? createTcp(take) : createTls({ ...options.tls }, take)
  const close = (): void => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  onTestFinished(close)
  return { port: await listen(server, options.port), messages, sockets, close }
}

async function listen(server: Server, port = 0): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(port, '127.0.0.1', resolve)
  await promise
  return (server.address() as AddressInfo).port
}
