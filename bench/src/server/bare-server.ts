import { createServer } from 'node:http'

/** The least that any server on Node does: every ratio is against this. */
const BODY = Buffer.from('{"message":"hello, world of bench"}')

// About as long as the other server keeps a connection while the rows take turns.
createServer({ keepAliveTimeout: 70_000 }, (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': BODY.length })
  response.end(BODY)
}).listen(Number(process.argv[2] ?? process.env['PALISADE_PORT']), '127.0.0.1')
