import { createServer } from 'node:net'

/**
 * The server at the other end of all tunnels. Arguments: port. It echoes; a first byte `S` asks for
 * as many bytes as the following eight digits say, and `G` is the first of requests over HTTP.
 */
const ANSWER = `HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n${'x'.repeat(200)}`
const BLOCK = Buffer.alloc(65_536, 1)
const server = createServer({ allowHalfOpen: true }, (socket) => {
  socket.on('error', () => socket.destroy())
  socket.on('end', () => socket.end())
  socket.once('data', (first: Buffer) => {
    if (first[0] === 0x47) {
      const answer = (): boolean => socket.write(ANSWER)
      answer()
      socket.on('data', answer)
      return
    }
    if (first[0] !== 0x53) {
      socket.write(first)
      socket.on('data', (chunk: Buffer) => socket.write(chunk))
      return
    }
    let left = Number(first.toString('latin1', 1, 9))
    const send = (): void => {
      while (left > 0) {
        const block = BLOCK.subarray(0, Math.min(left, BLOCK.length))
        left -= block.length
        if (!socket.write(block)) {
          socket.once('drain', send)
          return
        }
      }
      socket.end()
    }
    send()
  })
})
server.listen(Number(process.argv[2]), '127.0.0.1', 4_096)
