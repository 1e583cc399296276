import { createServer } from 'node:http'

/** The minimal reply of a Node server, which every ratio is measured against. */
const BODY = Buffer.from('{"message":"hello, world of bench"}')

// Long enough for connections to stay open while the other lanes take their turns.
createServer({ keepAliveTimeout: 70_000 }, (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': BODY.length })
  response.end(BODY)
}).listen(Number(process.env['PALISADE_PORT']), '127.0.0.1')
