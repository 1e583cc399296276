import { Agent, createServer, request as send } from 'node:http'
import { connect, type Socket } from 'node:net'

/**
 * The baseline: a proxy for IPv4 targets that decides nothing. Arguments: port. It keeps its
 * connections for requests in absolute form.
 */
const agent = new Agent({ keepAlive: true })
const server = createServer((request, response) => {
  const { method, url = '', headers } = request
  const upstream = send(url, { method, headers, agent }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
    answer.pipe(response)
  })
  upstream.on('error', () => response.destroy())
  request.pipe(upstream)
})
server.on('connect', (request, client: Socket, head: Buffer) => {
  const [host = '', port] = (request.url ?? '').split(':')
  const upstream = connect({ host, port: Number(port) }, () => {
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
    if (head.length > 0) upstream.write(head)
    upstream.pipe(client)
    client.pipe(upstream)
  })
  upstream.on('error', () => client.destroy())
  client.on('error', () => upstream.destroy())
})
server.listen(Number(process.argv[2]), '127.0.0.1', 4_096)
