import { request, type RequestOptions } from 'node:http'

/** Asks on a new connection. Returns null when that fails. */
export function askHttp(
  options: RequestOptions,
  body = '',
): Promise<{ readonly status: number; readonly text: string } | null> {
  return new Promise((resolve) => {
    const headers = { 'content-length': Buffer.byteLength(body) }
    const asked = request({ headers, agent: false, ...options }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      response.on('error', () => resolve(null))
    })
    asked.on('error', () => resolve(null))
    asked.end(body)
  })
}
