#!/usr/bin/env bash
# tools/package.sh BUILD INTO: a tarball that runs wherever it is unpacked, on any Linux since kernel 4.18.
# bin/longship and libexec/longship/longship-node are static. The large program brings its own C library and loader, so the system's may be older;
# liblongship.so, which is loaded into the user's Python, needs only glibc 2.28.
set -euo pipefail
build=$1 into=$2
source_tree=$(dirname "$(dirname "$(readlink -f "$0")")")
version=$("$build/bin/longship" --version | awk '{print $2}')
name=longship-$version-$(uname -m)
tree=$into/$name

rm -rf "$tree"
mkdir -p "$tree"/{bin,libexec/longship,lib/bundled,share/longship}
install -m 755 "$build/bin/longship" "$tree/bin/longship"
install -s -m 755 "$build/libexec/longship/longship-node" "$tree/libexec/longship/longship-node"
install -s -m 755 "$build/libexec/longship/longship" "$tree/libexec/longship/longship"
cp -r "$build/lib/longship" "$tree/lib/"
find "$tree/lib/longship" -name __pycache__ -prune -exec rm -rf {} +
cp -r "$source_tree"/{README.md,LICENSE,CHANGELOG.md,docs,examples} "$tree/share/longship/"
find "$tree/share/longship" \( -name runs -o -name __pycache__ \) -prune -exec rm -rf {} +

# What the large program is linked to, and the loader that belongs to it.
ldd "$build/libexec/longship/longship" | awk '$2 == "=>" {print $3}' | xargs -I{} cp -L {} "$tree/lib/bundled/"
loader=$(ldd "$build/libexec/longship/longship" | awk '/ld-linux|ld64/ {print $1}')
cp -L "$loader" "$tree/lib/bundled/ld.so"
chmod 755 "$tree/lib/bundled/ld.so"

# The same tree gives the same bytes.
tar -C "$into" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - "$name" | gzip -9n >"$into/$name.tar.gz"
printf '%s  %s\n' "$into/$name.tar.gz" "$(du -h "$into/$name.tar.gz" | cut -f1)"
