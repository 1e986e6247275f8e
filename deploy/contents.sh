#!/bin/sh
# Fills a folder with the files of an image: the program, and in a release its licences and bill of materials.
#
#    contents.sh agent|aggregator|plugin dev|release amd64|arm64 FOLDER
set -eu
cd "$(dirname "$0")/.."
. deploy/programs.sh
folder=$4
built=$(sh deploy/static.sh "$1" "$2" "$3")
install -D -m 755 "$built" "$folder/$(basename "$built")"
if [ "$2" = release ]; then
	sh deploy/notices.sh "$1" "$(triple "$3")" "$built" "$folder"
	weigh "$folder"/*
fi
