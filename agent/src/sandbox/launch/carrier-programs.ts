/** Bits of open(2) of a description by which a file cannot be read: O_WRONLY and O_PATH. */
const UNREADABLE = '010000001'
/** The rest of a file of input is read to count it, up to this many bytes. */
const MAX_COUNTED = 16 * 1_048_576

/**
 * The part of the supervisor's program that decides how the command gets a standard descriptor.
 *
 * Through a directory a command would reach every file of the machine. It could open a file again
 * to read and to rewrite, connect a socket of the machine's network to another address, send a
 * descriptor over one of Unix, and type into the master of a terminal. Only pipes, terminals and
 * /dev/null are passed on. Every other kind is carried through a FIFO: `cat` outside reads or
 * writes it with the descriptor of the caller. Output and errors of one object share one FIFO,
 * which keeps their order. A FIFO opens once both ends are there, and `cat` does not outlive the
 * supervisor.
 */
export const CHOOSE_CARRIED = String.raw`
is_passed() {
  [ -p "$1" ] || [ "$1" -ef /dev/null ] ||
    { [ -t "$2" ] && ! [ "$1" -ef /dev/ptmx ] && ! [ "$1" -ef /dev/pts/ptmx ]; }
}
input= output= errors=
for number in 0 1 2; do
  [ ! -d "/proc/$$/fd/$number" ] || refuse "descriptor $number is a directory; give a file"
done
is_passed "/proc/$$/fd/0" 0 || input=$directory/input
is_passed "/proc/$$/fd/1" 1 || output=$directory/output
is_passed "/proc/$$/fd/2" 2 || errors=$directory/errors
[ -z "$output" ] || [ ! "/proc/$$/fd/1" -ef "/proc/$$/fd/2" ] || errors=$output
`

/**
 * The part that starts the processes between the command and what is not passed on. Each process
 * that opens a FIFO compares its parent first, which may have ended before `--pdeathsig`: it would
 * wait for the other end for ever.
 *
 * A file of input is read by a description of its own. The caller's moves on at the end, by the
 * bytes that do not come out of the FIFO any more: a loop may read its list from the same file. A
 * file with more left than is worth reading in vain is carried as a stream. The supervisor opens
 * the FIFO apart from the command, which may set its descriptor not to wait.
 */
export const START_CARRIERS = String.raw`
exec 8<&0
carry() {
  trap '' HUP INT QUIT TERM USR1 USR2
  program="[ \"\$PPID\" = $$ ] || exit; exec $1"
  shift
  exec "$setpriv" --pdeathsig KILL -- "$env" --default-signal=PIPE \
    /bin/sh -c "$program" palisade "$@" 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-
}
carriers=
if [ -n "$output" ]; then
  (carry 'cat "$1"' "$output") &
  carriers=$!
fi
if [ -n "$errors" ] && [ "$errors" != "$output" ]; then
  (carry 'cat "$1"' "$errors") >&2 &
  carriers="$carriers $!"
fi
amount=0
if [ -f "/proc/$$/fd/0" ] && [ -r "/proc/$$/fd/0" ]; then
  while read -r name value; do
    case $name in pos:) position=$value ;; flags:) flags=$value ;; esac
  done <"/proc/$$/fdinfo/8"
  amount=$(($(stat -Lc %s "/proc/$$/fd/0") - position))
  [ $((flags & ${UNREADABLE})) -eq 0 ] && [ "$amount" -le ${MAX_COUNTED} ] || amount=0
fi
if [ "$amount" -gt 0 ]; then
  exec 8<>"$input"
  (carry 'dd bs=64K "skip=$1" "count=$2" iflag=skip_bytes,count_bytes status=none' \
    "$position" "$amount") <"/proc/$$/fd/0" >&8 &
elif [ -n "$input" ]; then
  (carry 'cat >"$1"' "$input") <&8 &
fi
carried=$!

open_carried='
[ "$PPID" = "$1" ] || exit
[ -z "$2" ] || exec <"$2"
[ -z "$3" ] || exec >"$3"
[ -z "$4" ] || if [ "$4" = "$3" ]; then exec 2>&1; else exec 2>"$4"; fi
shift 4
exec "$@" 8<&-
'
`

/**
 * The part that follows the end of the command.
 *
 * Output that `cat` cannot write, such as to a full disk, turns success into 1, as it does if a
 * program writes by itself. A reader that has gone does not: `cat` ends by SIGPIPE. One that still
 * waits for its FIFO gets an empty one.
 */
export const END_CARRIERS = String.raw`
if [ "$amount" -gt 0 ]; then
  left=$(wc -c <&8) || left=0
  [ "$left" -ge "$amount" ] || dd "skip=$((amount - left))" count=0 iflag=skip_bytes status=none
fi

for fifo in "$output" "$errors"; do
  [ ! -p "$fifo" ] || exec 8<>"$fifo"
done
exec 8<&-
for carrier in $carriers; do
  while
    wait "$carrier"
    code=$?
    [ "$code" -gt 128 ] && kill -s 0 "$carrier" 2>/dev/null
  do :; done
  [ "$code" -ne 1 ] || [ "$status" -ne 0 ] || status=1
done
`
