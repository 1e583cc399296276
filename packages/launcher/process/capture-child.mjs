import { spawn } from 'node:child_process'

/**
 * Runs a program to its end and captures its output.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd: string, env: NodeJS.ProcessEnv, input?: string }} options
 * @returns {Promise<{ code: number, stdout: string, stderr: string, output: string,
 *   missing: boolean }>} `output` is both streams in order of arrival; `missing` if the program
 *   does not exist
 */
export function captureChild(command, args, { cwd, env, input }) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] })
    const text = { stdout: '', stderr: '', output: '' }
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      text.stdout += chunk
      text.output += chunk
    })
    child.stderr.setEncoding('utf8').on('data', (chunk) => {
      text.stderr += chunk
      text.output += chunk
    })
    child.on('error', (error) => {
      if ('code' in error && error.code === 'ENOENT') resolve({ code: 127, ...text, missing: true })
      else reject(error)
    })
    child.on('close', (code) => resolve({ code: code ?? 1, ...text, missing: false }))
    child.stdin.on('error', () => {}) // a program may end without reading
    child.stdin.end(input ?? '')
  })
}
